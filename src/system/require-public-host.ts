/**
 * Refuses early what `publicFetch` would refuse. A name that can't be looked up now is not refused: the
 * download will fail.
 * @throws ValidationError
 */
export async function requirePublicHost(dataset_url: string): Promise<void> {
  // Loaded here, so that an import of the package doesn't wait for it.
  const { refusePrivateHost } = await import('./public-fetch.js');
  await refusePrivateHost(dataset_url);
}
