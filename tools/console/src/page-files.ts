/** The page's files, which were bundled when the package was built. They are loaded at the first request. */

/** One of the files of the page. */
export async function pageFile(name: 'html' | 'script' | 'style'): Promise<string> {
  return (await import('#assets'))[name]
}
