/** Works with what has to be closed, and closes it, whatever the work comes to. */
export async function closing<Resource extends AsyncDisposable, Value>(
  resource: Resource,
  work: (resource: Resource) => Promise<Value>,
): Promise<Value> {
  try {
    return await work(resource);
  } finally {
    await resource[Symbol.asyncDispose]();
  }
}
