/** The files of the page, as they were bundled when the package was built. Read when somebody asks for them. */

/** One of the files of the page. */
export async function pageFile(name: 'html' | 'script' | 'style'): Promise<string> {
  return (await import('#assets'))[name]
}
