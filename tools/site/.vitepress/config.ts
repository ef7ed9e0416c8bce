import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { defineConfig, type HeadConfig, type MarkdownOptions, type MarkdownRenderer } from 'vitepress'
import { hoverTypes } from './hover-types.ts'
import { pagesOf, TOPICS } from './navigation.ts'
import { address, NOT_ON_THE_SITE, pageOf, REPORTS, rootFolder, slugOf, targetOf } from './pages.ts'
import { WORDS } from './search-words.ts'

const { version } = JSON.parse(
  readFileSync(join(rootFolder, 'packages/elysia-microservices/package.json'), 'utf8')
) as { readonly version: string }

/** A figure with its unit, a ratio with its range, or the number and length of runs: a table must not break it into lines. */
const FIGURE = /^[*\d.,–-]+x?\**( \([\d.,]+–[\d.,]+\)| × [\d.]+ s| MiB| ms| µs)?$/

/** Diagrams with labels that a phone would show too small; charts have larger ones. */
const DIAGRAM = /(diagrams\/.+|\/system)\.svg$/

type Token = ReturnType<MarkdownRenderer['parse']>[number]

/** Marks cells with figures, and paragraphs with a diagram, for the style sheets. */
function markForStyles(tokens: readonly Token[]): void {
  for (const [index, { type, content, children }] of tokens.entries()) {
    const around = tokens[index - 1]
    if (type !== 'inline' || around === undefined) continue
    if (around.type === 'td_open' && FIGURE.test(content)) around.attrJoin('class', 'figure')
    const [image, ...others] = children ?? []
    const source = image?.type === 'image' && others.length === 0 ? image.attrGet('src') : null
    if (around.type === 'paragraph_open' && DIAGRAM.test(source ?? '')) around.attrJoin('class', 'diagram')
  }
}

/** Rewrites links between files, which GitHub follows, to links between pages. */
const config: MarkdownOptions['config'] = (markdown) => {
  markdown.core.ruler.push('marks-for-styles', ({ tokens }) => markForStyles(tokens))
  markdown.core.ruler.push('links-of-files', ({ tokens, env }) => {
    const from = (env.realPath ?? env.path) as string
    const inline = tokens.flatMap(({ children }) => children ?? [])
    for (const [index, token] of inline.entries()) {
      const href = token.type === 'link_open' ? token.attrGet('href') : null
      if (href === null || /^[a-z]+:|^#/i.test(href)) continue
      const target = targetOf(href, from)
      if (target !== undefined) {
        token.attrSet('href', target)
        // A report is a page of its own, which the router of the site does not know.
        if (target.startsWith('/benchmarks/')) token.attrSet('target', '_self')
        continue
      }
      // A link whose target is not on the site becomes plain text.
      const end = inline.slice(index).find(({ type }) => type === 'link_close')
      for (const part of [token, end])
        Object.assign(part as object, { type: 'text', tag: '', attrs: [], content: '' })
    }
  })
}

/** The language of the blocks of bytes in docs/protocol.md, which need no colours. */
const VECTOR = { name: 'vector', scopeName: 'text.vector', patterns: [], repository: {} }

const icon = readFileSync(join(import.meta.dirname, '../icon.svg'), 'utf8')

const DESCRIPTION =
  "Typed microservices for Bun, Node and Deno: NestJS's message patterns, types from the handler to the caller, a fast TCP transport"

/**
 * The address of the site. Its sitemap and its preview picture need whole addresses, and are left out without this
 * setting.
 */
const site = process.env['DOCS_URL']

/** The picture that other sites show beside a link to this site; tools/site/card.ts draws the picture. */
const card: readonly HeadConfig[] =
  site === undefined ? [] : [['meta', { property: 'og:image', content: new URL('card.png', site).href }]]

/** Writes the list of the site's pages for language models: https://llmstxt.org. */
function llms(): string {
  const topics = TOPICS.map(({ text, items = [] }) => {
    const links = items.map((item) => `- [${item.text}](${item.link}.html)`)
    return `## ${text}\n\n${links.join('\n')}\n`
  })
  return `# elysia-microservices\n\n> ${DESCRIPTION}\n\n${topics.join('\n')}`
}

export default defineConfig({
  title: 'elysia-microservices',
  description: DESCRIPTION,
  lang: 'en',
  base: process.env['DOCS_BASE'] ?? '/',
  head: [
    ['link', { rel: 'icon', href: `data:image/svg+xml,${encodeURIComponent(icon)}` }],
    ['meta', { property: 'og:title', content: 'elysia-microservices' }],
    ['meta', { property: 'og:description', content: DESCRIPTION }],
    ['meta', { property: 'og:type', content: 'website' }],
    ['meta', { name: 'twitter:card', content: 'summary_large_image' }],
    ...card
  ],
  srcDir: '../..',
  srcExclude: NOT_ON_THE_SITE,
  outDir: './dist',
  // Vue is installed beside the site, and pages are outside of this folder.
  vite: {
    resolve: {
      alias: [{ find: /^vue(?=$|\/)/, replacement: join(import.meta.dirname, '../node_modules/vue') }]
    }
  },
  rewrites: pageOf,
  metaChunk: true,
  markdown: {
    config,
    anchor: { slugify: slugOf },
    languages: [VECTOR],
    // The other light themes of this kind have too little contrast.
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    codeTransformers: [hoverTypes()]
  },
  themeConfig: {
    nav: [
      { text: 'Docs', link: '/getting-started', activeMatch: '^/(?!$|production$|performance$)' },
      { text: 'Production', link: '/production' },
      { text: 'Figures', link: '/performance' },
      { text: 'API', link: '/api/index.html', target: '_self' },
      {
        text: version,
        items: [
          { text: 'Changelog', link: '/changelog' },
          { text: 'Packages', link: '/packages/elysia-microservices' }
        ]
      }
    ],
    sidebar: TOPICS,
    outline: [2, 3],
    ...(address === undefined ? {} : { socialLinks: [{ icon: 'github', link: address }] }),
    search: {
      provider: 'local',
      options: {
        detailedView: true,
        // People type questions. Both functions become text of the page, so they use nothing from outside.
        miniSearch: {
          searchOptions: {
            processTerm: (term) =>
              /^(an?|and|are|by|can|do|does|for|from|happens|how|i|in|is|it|my|of|on|set|the|to|what|when|with|without)$/i.test(
                term
              )
                ? null
                : term.toLowerCase(),
            // Pages for contributors mention everything.
            boostDocument: (id) =>
              /\/(architecture|contributing|decisions|dependencies|engines|protocol|running-tests|torture.*|bench|packages\/.*)\.html/.test(
                id as string
              )
                ? 0.3
                : 1
          }
        },
        // Adds words that people search for to the words of a page.
        _render(text, env, markdown) {
          // The search index needs no colours, so highlighting is turned off.
          const { highlight } = markdown.options
          markdown.options.highlight = null
          const html = markdown.render(text, env)
          markdown.options.highlight = highlight ?? null
          const words = WORDS[(env.relativePath as string).replace(/\.md$/, '')]
          return words === undefined ? html : html.replace('</h1>', `</h1><p>${words.join(', ')}</p>`)
        }
      }
    },
    docFooter: { prev: 'Previous', next: 'Next' }
  },
  ...(site === undefined ? {} : { sitemap: { hostname: site } }),
  transformPageData({ relativePath, frontmatter }) {
    if (relativePath === 'index.md' && address !== undefined)
      frontmatter['hero'].actions.push({ theme: 'alt', text: 'Repository', link: address })
  },
  // VitePress' landing page lacks the element <main>, which screen readers look for.
  transformHtml: (html, _id, { page }) =>
    page === 'index.md' ? html.replace('id="VPContent"', 'id="VPContent" role="main"') : html,
  buildEnd({ pages, outDir }) {
    for (const name of REPORTS)
      cpSync(join(rootFolder, 'docs/benchmarks', name), join(outDir, 'benchmarks', name))
    cpSync(join(rootFolder, 'tools/site/card.png'), join(outDir, 'card.png'))
    writeFileSync(join(outDir, 'llms.txt'), llms())
    const listed = new Set(pagesOf(TOPICS).map((link) => `${link.slice(1)}.md`))
    const lost = pages.map(pageOf).filter((page) => page !== 'index.md' && !listed.has(page))
    if (lost.length > 0) throw new Error(`navigation.ts does not list ${lost.join(', ')}`)
  }
})
