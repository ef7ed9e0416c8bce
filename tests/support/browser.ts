/** Debian's Chromium, for tests that need a browser. */
import { existsSync } from 'node:fs'
import { type Browser, chromium } from 'playwright-core'

const PATH = '/usr/bin/chromium'
/** Flags with which the browser makes no requests of its own, such as for updates. */
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync'
]

/** The path at which this machine lacks a browser; `undefined`: there is one. */
export function chromiumMissing(): string | undefined {
  return existsSync(PATH) ? undefined : PATH
}

/** Starts the browser. @param without default flags of Playwright that are left out */
export function openBrowser(without: readonly string[] = []): Promise<Browser> {
  return chromium.launch({ executablePath: PATH, args: FLAGS, ignoreDefaultArgs: [...without] })
}
