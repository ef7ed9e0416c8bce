/** Where each Markdown file of the repository stands on the site, and what a link between such files becomes there. */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'

export const rootFolder = resolve(import.meta.dirname, '../..')

/** The file as a path from the root, and its page as VitePress names it. */
const PAGES: readonly (readonly [file: RegExp, page: string])[] = [
  [/^site\/index\.md$/, 'index.md'],
  [/^docs\/(.+)$/, '$1'],
  [/^(packages|examples)\/([^/]+)\/README\.md$/, '$1/$2.md'],
  [/^SECURITY\.md$/, 'security-policy.md'],
  [/^CONTRIBUTING\.md$/, 'contributing.md'],
  [/^CHANGELOG\.md$/, 'changelog.md']
]

/** Documents without a page: GitHub shows them, or nobody reads them. */
export const NOT_ON_THE_SITE = [
  'README.md',
  '{packages,examples}/*/CHANGELOG.md',
  'docs/benchmarks/**',
  'examples/bench/results/**',
  'packages/*/template/**',
  'site/api.md',
  '{tests,runtimes,scripts}/**'
]

/** The page of a file, both as paths; the file itself if it has none. */
export function pageOf(file: string): string {
  for (const [pattern, page] of PAGES) if (pattern.test(file)) return file.replace(pattern, page)
  return file
}

/** The repository's address, where its package.json says it. */
const { repository } = JSON.parse(readFileSync(join(rootFolder, 'package.json'), 'utf8')) as {
  readonly repository?: { readonly url: string }
}
export const address = repository?.url.replace(/^git\+/, '').replace(/\.git$/, '')

/** The reports of the benchmark, with their charts: files of their own on the site. */
export const REPORTS: readonly string[] = readdirSync(join(rootFolder, 'docs/benchmarks')).filter((name) =>
  name.endsWith('.html')
)

/**
 * The target of a relative link that stands in `from`: a page, or else the file in the repository; `undefined` if
 * nobody knows where that is.
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

/** The name by which a heading is linked to, as GitHub makes it. */
export function slugOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')
}
