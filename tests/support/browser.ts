/** Debian's Chromium, for what only a browser can tell. */
import { existsSync } from 'node:fs'
import { type Browser, chromium } from 'playwright-core'

const PATH = '/usr/bin/chromium'
/** It may neither download anything nor ask anybody: nothing of that belongs to a test. */
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync'
]

/** The path of the browser that this machine lacks; `undefined` if it has one. */
export function chromiumMissing(): string | undefined {
  return existsSync(PATH) ? undefined : PATH
}

/** Starts it. @param without flags of Playwright's that are left out */
export function openBrowser(without: readonly string[] = []): Promise<Browser> {
  return chromium.launch({ executablePath: PATH, args: FLAGS, ignoreDefaultArgs: [...without] })
}
