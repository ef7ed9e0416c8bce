/** The site that `npm run docs` has built from the documentation: its pages, links and search, as readers use them. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { extname, join, posix } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { promisify } from 'node:util'
import { isMissing } from '@elysia-microservices/test-support'
import type { Browser } from 'playwright-core'
import { anchorsOf, DOCUMENTS } from '../docs/markdown.ts'
import { chromiumMissing, openBrowser } from '../support/browser.ts'
import { packageFolders, rootFolder } from '../workspace.ts'

const SITE = join(rootFolder, 'tools', 'site', 'dist')

/** Widths of windows: phones, tablets and desktops, and the widths at which VitePress changes its layout. */
const WIDTHS = [360, 390, 640, 768, 959, 960, 1_024, 1_280, 1_439, 1_440, 1_512, 1_600, 1_920, 2_000]

interface Manifest {
  readonly name: string
  readonly private?: boolean
  readonly exports: Readonly<Record<string, unknown>>
}

/** As in a workflow of this repository. */
const WORKFLOW = { GITHUB_SERVER_URL: 'https://code.example', GITHUB_REPOSITORY: 'own/name' }

async function build(): Promise<void> {
  const env = { ...process.env, ...WORKFLOW }
  await promisify(execFile)('npm', ['run', 'docs'], { cwd: rootFolder, env, maxBuffer: 64 * 1024 * 1024 })
}

/** The page of a document; `undefined`: there is none. */
function pageOf(document: string): string | undefined {
  const [, docs] = /^docs\/(.+)\.md$/.exec(document) ?? []
  const [, named] = /^((?:packages|engines|tools|examples)\/.+)\/README\.md$/.exec(document) ?? []
  return docs ?? named
}
const PAGES = DOCUMENTS.map((document) => ({ document, page: pageOf(document) })).filter(
  (each): each is { document: string; page: string } => each.page !== undefined
)

/** The questions of `docs/getting-started.md`, each with the address of its answer. */
function asked(): (readonly [string, string])[] {
  const text = readFileSync(join(rootFolder, 'docs/getting-started.md'), 'utf8')
  const [, table = ''] = /^## What people ask\n([\s\S]+?)^## /m.exec(text) ?? []
  return [...table.matchAll(/^\| (.+) \| \[.+\]\((.+)\) \|$/gm)].map(([, question = '', link = '']) => {
    const { pathname, hash } = new URL(link, 'http://site/docs/')
    return [question, `/${pageOf(pathname.slice(1))}.html${hash}`]
  })
}

/** All HTML files of the site, as paths from its folder. */
function htmlFiles(): string[] {
  assert.ok(existsSync(join(SITE, 'index.html')), 'the site is built')
  return (readdirSync(SITE, { recursive: true }) as string[]).filter((file) => file.endsWith('.html'))
}

function decode(text: string): string {
  return text.replaceAll('&amp;', '&').replaceAll('&quot;', '"').replaceAll('&#39;', "'")
}

/** The anchors and the links of an HTML file. */
function readHtml(file: string): { readonly ids: ReadonlySet<string>; readonly links: readonly string[] } {
  const text = readFileSync(join(SITE, file), 'utf8').replace(/<script[\s\S]*?<\/script>/g, '')
  const values = (pattern: RegExp) => [...text.matchAll(pattern)].map(([, value = '']) => decode(value))
  return { ids: new Set(values(/\sid="([^"]*)"/g)), links: values(/<a\b[^>]*?\shref="([^"]*)"/g) }
}

const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css',
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2'
}

/** Serves the site as any static file server does. */
async function serve(): Promise<Server> {
  const server = createServer(({ url = '/' }, response) => {
    const { pathname } = new URL(url, 'http://site')
    const file = join(
      SITE,
      posix.normalize(decodeURIComponent(pathname)),
      pathname.endsWith('/') ? 'index.html' : ''
    )
    if (!existsSync(file)) return response.writeHead(404).end()
    return response
      .writeHead(200, { 'content-type': TYPES[extname(file)] ?? 'application/octet-stream' })
      .end(readFileSync(file))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return server
}

describe('the site', () => {
  before(build)

  it('has a page for each document, and a heading for each link with an anchor', () => {
    assert.ok(PAGES.length > 40)
    for (const { document, page } of PAGES) {
      const { ids } = readHtml(`${page}.html`)
      const lost = [...anchorsOf(join(rootFolder, document))].filter((anchor) => !ids.has(anchor))
      assert.deepEqual(lost, [], document)
    }
  })

  it('has links to all pages on every page', () => {
    const { links } = readHtml('errors.html')
    for (const { page } of PAGES) assert.ok(links.includes(`/${page}.html`), page)
  })

  it('leads from its landing page to the repository', () => {
    const main = readFileSync(join(SITE, 'index.html'), 'utf8').split('role="main"')[1] ?? ''
    assert.match(main, /<a [^>]*href="https:\/\/code\.example\/own\/name"/)
  })

  it('shows its version, with a link to the changes', () => {
    const manifest = readFileSync(join(rootFolder, 'packages/elysia-microservices/package.json'), 'utf8')
    const { version } = JSON.parse(manifest) as { version: string }
    const html = readFileSync(join(SITE, 'errors.html'), 'utf8')
    const [, menu = ''] =
      new RegExp(`<span[^>]*>${version}</span>[^]*?</button>([^]*?)</nav>`).exec(html) ?? []
    assert.match(menu, /href="\/changelog\.html"/)
    assert.match(readFileSync(join(SITE, 'changelog.html'), 'utf8'), /<h1[^>]*>Changelog/)
  })

  it('has a reference of each entry point of each package', () => {
    for (const folder of packageFolders.values()) {
      const manifest = readFileSync(join(rootFolder, folder, 'package.json'), 'utf8')
      const { name, exports, ...rest } = JSON.parse(manifest) as Manifest
      if (rest.private) continue
      for (const [path, target] of Object.entries(exports)) {
        // Test helpers for transports are described in their sources; the other two entry points are only for the
        // command line.
        if (typeof target === 'string' || ['./testing', './preload', './guard'].includes(path)) continue
        const file = (name + path.slice(1)).replace(/[^\w-]/g, '_')
        assert.ok(existsSync(join(SITE, 'api', 'modules', `${file}.html`)), `${name}${path.slice(1)}`)
      }
    }
    const { links } = readHtml('api/modules/elysia-microservices.html')
    assert.ok(links.some((link) => link.endsWith('functions/elysia-microservices.microservice.html')))
  })

  it('has the reports of the benchmark, and the files for language models', () => {
    const { links } = readHtml('performance.html')
    assert.ok(links.includes('/benchmarks/report.html'))
    assert.ok(existsSync(join(SITE, 'benchmarks', 'report.html')))
    const text = readFileSync(join(SITE, 'llms.txt'), 'utf8')
    for (const [, path = ''] of text.matchAll(/\]\(\/(.+?)\)/g)) assert.ok(existsSync(join(SITE, path)), path)
  })

  it('has no dead link', () => {
    const files = htmlFiles()
    const pages = new Map(files.map((file) => [file, readHtml(file)]))
    const dead: string[] = []
    let count = 0
    for (const [file, { links }] of pages) {
      for (const link of links) {
        if (/^(https?|mailto):/.test(link)) continue
        count++
        const { pathname, hash } = new URL(link, `http://site/${file}`)
        const path = decodeURIComponent(pathname.slice(1))
        const target = path === '' || path.endsWith('/') ? `${path}index.html` : path
        const anchor = decodeURIComponent(hash.slice(1))
        const page = pages.get(target)
        const isThere =
          page === undefined ? existsSync(join(SITE, target)) : anchor === '' || page.ids.has(anchor)
        if (!isThere) dead.push(`${link} in ${file}`)
      }
    }
    assert.ok(count > 2_000, `${count} links`)
    assert.deepEqual([...new Set(dead)], [])
  })

  if (!isMissing('the site in a browser', chromiumMissing())) {
    describe('in a browser', () => {
      let browser: Browser
      let server: Server
      let address: string
      before(async () => {
        server = await serve()
        address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
        browser = await openBrowser()
      })
      after(async () => {
        await browser.close()
        server.close()
      })

      for (const path of ['index', 'patterns', 'performance', 'recipes']) {
        it(`cuts nothing off in windows of 360 to 2,000 pixels: ${path}`, async () => {
          const page = await browser.newPage()
          await page.goto(`${address}/${path}.html`)
          for (const width of WIDTHS) {
            await page.setViewportSize({ width, height: 900 })
            const { over, lost } = await page.evaluate<{ over: number; lost: string[] }>(`(() => {
              const { scrollWidth, clientWidth } = document.documentElement
              const links = [...document.querySelectorAll('.VPSidebar .text, .VPNavBarTitle .title')]
              // The side bar begins at the left edge; it is 272 pixels wide, or not on the screen.
              const sidebar = document.querySelector('.VPSidebar')?.getBoundingClientRect()
              const isSqueezed = sidebar !== undefined && sidebar.right > 0 && sidebar.width < 272
              const cut = links.filter((each) => each.scrollWidth > each.clientWidth + 1).map((each) => each.textContent)
              return { over: scrollWidth - clientWidth, lost: isSqueezed ? ['the side bar', ...cut] : cut }
            })()`)
            assert.ok(over <= 0, `it is wider than a window of ${width}: ${over} pixels`)
            assert.deepEqual(lost, [], String(width))
          }
          await page.close()
        })
      }

      it('finds the answers to what people ask, and pages by common terms', async () => {
        assert.ok(asked().length >= 10)
        const tab = await browser.newPage()
        await tab.goto(`${address}/limits.html`)
        await tab.locator('.DocSearch-Button').click()
        for (const [words, answer] of [
          ...asked(),
          ['saga', '/recipes.html'],
          ['load balancing', '/connections.html'],
          ['CORS', '/gateway.html'],
          ['circuit breaker', '/deadlines.html'],
          ['versioning', '/patterns.html'],
          ['lifecycle', '/stopping.html'],
          ['retry', '/connections.html']
        ] as const) {
          await tab.locator('#localsearch-input').fill(words)
          await tab.locator(`.result[href*="${answer}"]`).first().waitFor()
        }
        await tab.close()
      })

      for (const [what, width, colorScheme] of [
        ['on a desk, light', 1_280, 'light'],
        ['on a phone, dark', 390, 'dark']
      ] as const) {
        it(`finds a page by a word of it, ${what}`, async () => {
          const page = await browser.newPage({ viewport: { width, height: 800 }, colorScheme })
          const complaints: string[] = []
          page.on('pageerror', ({ message }) => complaints.push(message))
          page.on('response', (response) => {
            if (response.status() >= 400) complaints.push(response.url())
          })
          await page.goto(`${address}/limits.html`)
          await page.locator('.DocSearch-Button').click()
          await page.locator('#localsearch-input').fill('dead letters')
          await page.locator('.result[href*="durable-events"]').first().click()
          await page.getByRole('heading', { level: 1, name: 'Durable events' }).waitFor()

          const { dark, over } = await page.evaluate<{ dark: boolean; over: number }>(`(() => {
            const { classList, scrollWidth, clientWidth } = document.documentElement
            return { dark: classList.contains('dark'), over: scrollWidth - clientWidth }
          })()`)
          assert.equal(dark, colorScheme === 'dark')
          assert.ok(over <= 0, `nothing is wider than the window: ${over} pixels`)
          assert.deepEqual(complaints, [])
          await page.close()
        })
      }
    })
  }
})
