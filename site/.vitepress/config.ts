import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { defineConfig, type MarkdownOptions } from 'vitepress'
import { pagesOf, TOPICS } from './navigation.ts'
import { NOT_ON_THE_SITE, pageOf, rootFolder, slugOf, targetOf } from './pages.ts'

const { version } = JSON.parse(
  readFileSync(join(rootFolder, 'packages/elysia-microservices/package.json'), 'utf8')
) as { readonly version: string }

/** Links between files, as GitHub follows them, become links between pages. */
const config: MarkdownOptions['config'] = (markdown) => {
  markdown.core.ruler.push('links-of-files', ({ tokens, env }) => {
    const from = (env.realPath ?? env.path) as string
    const inline = tokens.flatMap(({ children }) => children ?? [])
    for (const [index, token] of inline.entries()) {
      const href = token.type === 'link_open' ? token.attrGet('href') : null
      if (href === null || /^[a-z]+:|^#/i.test(href)) continue
      const target = targetOf(href, from)
      if (target !== undefined) {
        token.attrSet('href', target)
        continue
      }
      // A link that leads nowhere on the site stays a word.
      const end = inline.slice(index).find(({ type }) => type === 'link_close')
      for (const part of [token, end])
        Object.assign(part as object, { type: 'text', tag: '', attrs: [], content: '' })
    }
  })
}

/** docs/protocol.md has blocks of bytes, which have no colours. */
const VECTOR = { name: 'vector', scopeName: 'text.vector', patterns: [], repository: {} }

const icon = readFileSync(join(import.meta.dirname, '../icon.svg'), 'utf8')

export default defineConfig({
  title: 'elysia-microservices',
  description: 'Microservices for Elysia: message patterns, types end to end, a fast TCP transport',
  lang: 'en',
  base: process.env['DOCS_BASE'] ?? '/',
  head: [['link', { rel: 'icon', href: `data:image/svg+xml,${encodeURIComponent(icon)}` }]],
  srcDir: '..',
  srcExclude: NOT_ON_THE_SITE,
  outDir: './dist',
  rewrites: pageOf,
  metaChunk: true,
  markdown: { config, anchor: { slugify: slugOf }, languages: [VECTOR] },
  themeConfig: {
    nav: [
      { text: 'Start', link: '/getting-started', activeMatch: '^/getting-started' },
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
    search: { provider: 'local' },
    docFooter: { prev: 'Before', next: 'Next' }
  },
  buildEnd({ pages }) {
    const listed = new Set(pagesOf(TOPICS).map((link) => `${link.slice(1)}.md`))
    const lost = pages.map(pageOf).filter((page) => page !== 'index.md' && !listed.has(page))
    if (lost.length > 0) throw new Error(`navigation.ts does not list ${lost.join(', ')}`)
  }
})
