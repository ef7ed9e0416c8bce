/**
 * A page that is controlled without Playwright. In its own pages, Playwright records every message of a WebSocket,
 * which costs the browser more than the page itself needs for a message with a single answer.
 */
import type { Browser } from 'playwright-core'
import { BenchError } from '../../errors.ts'
import { startBrowser } from '../../process/browser.ts'
import { freePort } from '../../process/free-port.ts'

/** The time limit for loading a page, in milliseconds. */
const LOADS = 30_000

export interface QuietPage {
  /** Runs an expression, awaits its promise, and returns its value. */
  evaluate(expression: string): Promise<unknown>
  close(): Promise<void>
}

interface Told {
  readonly id: number
  readonly error?: { readonly message: string }
  readonly result?: {
    readonly result: { readonly value?: unknown }
    readonly exceptionDetails?: {
      readonly text: string
      readonly exception?: { readonly description?: string }
    }
  }
}

interface Waiting {
  resolve(value: unknown): void
  reject(error: Error): void
}

/** Opens a page in a new browser, and waits until the page is loaded. */
export async function openQuietPage(url: string): Promise<QuietPage> {
  const port = await freePort('127.0.0.1')
  // The certificate for HTTP/2 is not signed by a known authority.
  const browser = await startBrowser([`--remote-debugging-port=${port}`, '--ignore-certificate-errors'])
  try {
    const made = await fetch(`http://127.0.0.1:${port}/json/new?${url}`, { method: 'PUT' })
    const { webSocketDebuggerUrl } = (await made.json()) as { readonly webSocketDebuggerUrl: string }
    const page = await talkTo(webSocketDebuggerUrl, browser)
    const loaded = `location.href === '${url}' && document.readyState === 'complete'`
    // During the change from the empty page to this one, the evaluation fails.
    const isLoaded = () => page.evaluate(loaded).catch(() => false)
    for (const end = performance.now() + LOADS; (await isLoaded()) !== true; ) {
      if (performance.now() > end) throw new BenchError(`${url} was not loaded within ${LOADS} ms`)
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    return page
  } catch (error) {
    await browser.close()
    throw error
  }
}

/** A client of Chromium's DevTools protocol, of which only `Runtime.evaluate` is needed. */
async function talkTo(address: string, browser: Browser): Promise<QuietPage> {
  const socket = new WebSocket(address)
  const waiting = new Map<number, Waiting>()
  await new Promise((resolve, reject) => {
    socket.onopen = resolve
    socket.onerror = () => reject(new BenchError('the browser does not answer'))
  })
  socket.onclose = () => {
    for (const { reject } of waiting.values()) reject(new BenchError('the page was closed'))
    waiting.clear()
  }
  socket.onmessage = ({ data }) => {
    const { id, error, result } = JSON.parse(String(data)) as Told
    const { resolve, reject } = waiting.get(id) ?? {}
    waiting.delete(id)
    const thrown = result?.exceptionDetails
    const why = error?.message ?? thrown?.exception?.description ?? thrown?.text
    if (why === undefined) resolve?.(result?.result.value)
    else reject?.(new BenchError(`in the page: ${why}`))
  }
  let asked = 0
  return {
    evaluate: (expression) =>
      new Promise((resolve, reject) => {
        if (socket.readyState !== WebSocket.OPEN) return reject(new BenchError('the page was closed'))
        const id = ++asked
        waiting.set(id, { resolve, reject })
        const params = { expression, awaitPromise: true, returnByValue: true }
        socket.send(JSON.stringify({ id, method: 'Runtime.evaluate', params }))
      }),
    async close() {
      socket.close()
      await browser.close()
    }
  }
}
