/**
 * The client in other environments: a dedicated worker, a service worker, and programs on Bun, Deno and the newest
 * Node LTS.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { promisify } from 'node:util'
import { DENO, isMissing, newestNode } from '@elysia-microservices/test-support'
import { websocket } from '@elysia-microservices/websocket'
import { chromiumMissing, openBrowser } from '../support/browser.ts'
import { bundled } from '../support/bundled.ts'
import { listen, newApp } from '../support/http-app.ts'
import { bun } from '../workspace.ts'
import { EXPECTED, newService } from './edge-service.ts'

const service = newService()

/** The programs of these runtimes, with their arguments. */
const PROGRAMS = [
  ['Bun', [bun]],
  ['Deno', [DENO, 'run', '--allow-net']],
  ['the newest Node LTS', [newestNode()]]
] as const

const SAYS = `import { outcome } from './edge.ts'`
const WORKERS = [
  ['a dedicated worker', `${SAYS}\noutcome().then(postMessage)`],
  [
    'a service worker',
    `${SAYS}\nonmessage = ({ source }) => outcome().then((said) => source.postMessage(said))`
  ]
] as const

/** Runs in the page: starts the worker, and returns its message. */
const ASK = {
  'a dedicated worker': `new Promise((resolve, reject) => {
    const worker = new Worker('/worker.js')
    worker.onmessage = ({ data }) => resolve(data)
    worker.onerror = ({ message }) => reject(new Error(message))
  })`,
  'a service worker': `new Promise((resolve, reject) => {
    navigator.serviceWorker.onmessage = ({ data }) => resolve(data)
    navigator.serviceWorker.startMessages()
    navigator.serviceWorker.register('/worker.js')
    navigator.serviceWorker.ready.then(({ active }) => active.postMessage('begin'), reject)
  })`
}

describe('a client in another environment', () => {
  let script = ''
  const app = newApp()
    .get('/', () => new Response('<!doctype html>', { headers: { 'content-type': 'text/html' } }))
    .get('/worker.js', () => new Response(script, { headers: { 'content-type': 'text/javascript' } }))
    .use(service)
    .use(websocket({ expose: ['>'] }))
  let server: Awaited<ReturnType<typeof listen>>
  let folder = ''
  before(async () => {
    folder = mkdtempSync(path.join(tmpdir(), 'edges-'))
    server = await listen(app)
  })
  after(async () => {
    rmSync(folder, { recursive: true })
    await server.stop()
    await service.stop()
  })

  for (const [name, [command, ...args]] of PROGRAMS)
    it(`runs on ${name}`, async () => {
      const file = path.join(folder, 'edge.mjs')
      const url = `${server.url.replace('http', 'ws')}/rsocket`
      writeFileSync(file, bundled(`${SAYS}\nconsole.log(JSON.stringify(await outcome('${url}')))`))
      const { stdout } = await promisify(execFile)(command, [...args, file])
      assert.deepEqual(JSON.parse(stdout), EXPECTED)
    })

  if (!isMissing('workers of pages', chromiumMissing()))
    for (const [name, program] of WORKERS)
      it(`runs in ${name}`, async () => {
        script = bundled(program, '--format=iife')
        const browser = await openBrowser()
        try {
          const page = await browser.newPage()
          await page.goto(server.url)
          const { event, ...said } = (await page.evaluate(ASK[name])) as Record<string, unknown>
          assert.deepEqual([said, event], [EXPECTED, undefined])
        } finally {
          await browser.close()
        }
      })
})
