/**
 * The contract and RSocket in a browser: the packages bundle without a polyfill, work without `Buffer`, and run in a
 * page.
 */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, describe, it } from 'node:test'
import { gzipSync } from 'node:zlib'
import { isMissing, PATIENCE } from '@elysia-microservices/test-support'
import { chromiumMissing, openBrowser } from '../support/browser.ts'
import { bun, rootFolder } from '../workspace.ts'

const folder = mkdtempSync(path.join(tmpdir(), 'browser-'))
after(() => rmSync(folder, { recursive: true, force: true }))

/** A program that is run without any global of Node except the console. */
const PROGRAM = `
import '@elysia-microservices/transport/msgpack'
import '@elysia-microservices/transport/shapes'
import { jsonCodec, openCodec, ByteWriter, memory } from '@elysia-microservices/transport/kit'

const values = [
  undefined, null, true, 0, -1.5, 1e21, '', 'é€😀', 'a'.repeat(5000), [1, [2, { a: null }]],
  { text: 'ü', list: [1, 2, 3], nested: { deep: { er: true } } }
]
for (const mimeType of ['application/json', 'application/x-msgpack', 'application/x-json-shapes']) {
  const codec = openCodec(mimeType)
  for (const value of values) {
    const out = new ByteWriter()
    out.data(codec.encode(value))
    const bytes = out.copyFrom(0)
    const read = codec.decode(bytes, 0, bytes.length)
    if (JSON.stringify(read) !== JSON.stringify(value)) throw new Error(mimeType + ' changed ' + JSON.stringify(value))
  }
}
const context = { name: 'test', version: undefined, logger: console, timeout: 1000, dispatcher: undefined }
const transport = memory()
const server = transport.server(context)
await server.start({
  routes: () => [],
  request: ({ route, data }) => (route === 'count' ? count(data) : data),
  event() {}
})
async function* count(to) {
  for (let n = 0; n < to; n++) yield n
}
const client = transport.client(context)
if ((await client.request('echo', 'é')) !== 'é') throw new Error('echo')
const seen = await new Promise((resolve, reject) => {
  const values = []
  client.stream('count', 1000, { next: (value) => void values.push(value), complete: () => resolve(values), error: reject })
})
if (seen.length !== 1000) throw new Error('count')
await client.close()
await server.stop()
console.log('all carried')
`

/** Removes the globals that browsers do not have, and runs the bundle. */
const RUNNER = `
for (const name of ['Buffer', 'setImmediate', 'clearImmediate', 'global', 'require']) delete globalThis[name]
if (typeof Buffer !== 'undefined') throw new Error('Buffer is still there')
await import('./bundle.js')
if (globalThis.outcome) console.log(JSON.stringify(await globalThis.outcome))
process.exit()
`

describe('the contract in a browser', () => {
  it('bundles without a polyfill and carries values where there is no Buffer', () => {
    const program = path.join(rootFolder, 'tests', `.browser-${process.pid}.js`)
    writeFileSync(program, PROGRAM)
    try {
      execFileSync(bun, [
        'build',
        program,
        '--target=browser',
        '--format=esm',
        `--outfile=${folder}/bundle.js`
      ])
    } finally {
      rmSync(program, { force: true })
    }
    const bundle = execFileSync('cat', [`${folder}/bundle.js`], { encoding: 'utf8' })
    assert.doesNotMatch(bundle, /from ?"node:|require\("node:|node-fetch|__toESM\(require_buffer/)
    writeFileSync(path.join(folder, 'package.json'), '{"type":"module"}')
    writeFileSync(path.join(folder, 'run.js'), RUNNER)
    const said = execFileSync('node', ['run.js'], { cwd: folder, encoding: 'utf8' })
    assert.equal(said.trim(), 'all carried')
  })
})

/** The outcome that `rsocket-page.ts` reports if everything works. */
const OUTCOME = {
  values: [1, 1, 'é€😀', 'é€😀', { a: [null, 1.5] }, { a: [null, 1.5] }],
  large: true,
  error: { code: 'E', message: 'ä', details: { d: [1] } },
  unknown: 'PatternNotFoundError',
  stream: 3_000,
  channel: 1_999_000,
  deadline: 'TimeoutError',
  lines: [],
  lost: 'ConnectionError'
}
/** The largest allowed size of a client without sockets, connection pool and responder, minified and compressed. */
const MOST_BYTES = 21_500

describe('RSocket in a browser', () => {
  const inputs = path.join(rootFolder, 'tests', 'architecture')
  const bundled = (input: string, ...flags: string[]) =>
    execFileSync(
      path.join(rootFolder, 'node_modules/.bin/esbuild'),
      ['--bundle', '--format=esm', '--platform=browser', '--log-level=warning', ...flags],
      { input, cwd: inputs, encoding: 'utf8' }
    )
  const page = bundled(`import './rsocket-page.ts'`)

  it('carries requests, streams and channels without any global of Node', () => {
    writeFileSync(path.join(folder, 'package.json'), '{"type":"module"}')
    writeFileSync(path.join(folder, 'bundle.js'), page)
    writeFileSync(path.join(folder, 'run.js'), RUNNER)
    const said = execFileSync('node', ['run.js'], { cwd: folder, encoding: 'utf8' })
    assert.deepEqual(JSON.parse(said), OUTCOME)
  })

  if (!isMissing('RSocket in a browser', chromiumMissing()))
    it('carries them in a page whose policy forbids eval()', { timeout: PATIENCE }, async () => {
      const browser = await openBrowser()
      try {
        const tab = await browser.newPage()
        const policy = "default-src 'none'; script-src 'self'"
        await tab.route('http://page.test/**', (route) => {
          const isScript = route.request().url().endsWith('.js')
          return route.fulfill({
            contentType: isScript ? 'text/javascript' : 'text/html',
            headers: { 'content-security-policy': policy },
            body: isScript ? page : '<!doctype html><script type="module" src="/bundle.js"></script>'
          })
        })
        const errors: string[] = []
        tab.on('pageerror', ({ message }) => errors.push(message))
        await tab.goto('http://page.test/')
        assert.deepEqual(await tab.evaluate('globalThis.outcome'), OUTCOME)
        assert.deepEqual(errors, [])
      } finally {
        await browser.close()
      }
    })

  it(`costs a page less than ${MOST_BYTES} bytes, codecs beside JSON left out`, () => {
    const client = `
      export { ClientConnection } from '@elysia-microservices/rsocket'
      export { PendingCaller } from '@elysia-microservices/transport/kit'`
    const { length } = gzipSync(bundled(client, '--minify'))
    assert.ok(length < MOST_BYTES, String(length))
  })
})
