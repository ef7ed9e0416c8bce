/** The files of the page, as they were bundled when the package was built. Read when somebody asks for them. */

/** What the page consists of. */
export async function pageFile(name: 'html' | 'script' | 'style'): Promise<string> {
  return (await import('#assets'))[name]
}
