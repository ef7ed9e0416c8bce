/** Maps the Markdown files of the repository to pages of the site, and links between files to links between pages. */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'

export const rootFolder = resolve(import.meta.dirname, '../../..')

/** The path of a file from the root, and the name of its page in VitePress. */
const PAGES: readonly (readonly [file: RegExp, page: string])[] = [
  [/^tools\/site\/index\.md$/, 'index.md'],
  [/^docs\/(.+)$/, '$1'],
  [/^(packages|engines|tools|examples)\/([^/]+)\/README\.md$/, '$1/$2.md'],
  [/^SECURITY\.md$/, 'security-policy.md'],
  [/^CONTRIBUTING\.md$/, 'contributing.md'],
  [/^CHANGELOG\.md$/, 'changelog.md']
]

/** Documents without a page: GitHub shows them, or they are for tools only. */
export const NOT_ON_THE_SITE = [
  'README.md',
  '{packages,engines,tools,examples}/*/CHANGELOG.md',
  'docs/benchmarks/**',
  'examples/bench/results/**',
  'tools/*/template/**',
  'tools/site/api.md',
  '{tests,tools/postgres,tools/runtimes,tools/scripts,tools/test-support}/**'
]

/** The page of a file, both as paths; the path of the file if there is no page for it. */
export function pageOf(file: string): string {
  for (const [pattern, page] of PAGES) if (pattern.test(file)) return file.replace(pattern, page)
  return file
}

/** The address of the repository: as package.json states it, or where the workflow that builds the site runs. */
const { repository } = JSON.parse(readFileSync(join(rootFolder, 'package.json'), 'utf8')) as {
  readonly repository?: { readonly url: string }
}
const { GITHUB_SERVER_URL: server, GITHUB_REPOSITORY: name } = process.env
export const address =
  repository?.url.replace(/^git\+/, '').replace(/\.git$/, '') ??
  (server === undefined || name === undefined ? undefined : `${server}/${name}`)

/** The reports of the benchmark, with their charts: HTML files that the site serves as they are. */
export const REPORTS: readonly string[] = readdirSync(join(rootFolder, 'docs/benchmarks')).filter((name) =>
  name.endsWith('.html')
)

/**
 * The target of a relative link in the file `from`: a page, or the file in the repository; `undefined` if the address
 * of the repository is not known.
 */
export function targetOf(link: string, from: string): string | undefined {
  const [path = '', anchor] = link.split('#')
  const file = relative(rootFolder, resolve(dirname(from), decodeURI(path)))
  const readme = join(file, 'README.md')
  const there =
    existsSync(join(rootFolder, readme)) && statSync(join(rootFolder, file)).isDirectory() ? readme : file
  const report = /^docs\/benchmarks\/(.+)\.md$/.exec(there)?.[1]
  if (report !== undefined && REPORTS.includes(`${report}.html`)) return `/benchmarks/${report}.html`
  const page = there === 'README.md' ? 'index.md' : pageOf(there)
  const isPage = page !== there && page.endsWith('.md') && !there.startsWith('docs/benchmarks/')
  if (isPage) return `/${page}${anchor === undefined ? '' : `#${anchor}`}`
  return address === undefined ? undefined : `${address}/blob/HEAD/${link.startsWith('#') ? '' : file}`
}

/** The anchor of a heading, as GitHub generates it. */
export function slugOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')
}
