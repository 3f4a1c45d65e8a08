export default function Page() {
  return <p>Ask at /api/ask?text=…</p>;
}
