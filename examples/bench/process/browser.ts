/** Debian's Chromium, for what only a browser can tell. Where there is none and this may install it, it does. */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { type Browser, chromium } from 'playwright-core'
import { which } from './runtime.ts'

const PATH = '/usr/bin/chromium'
/** It may neither download anything nor ask anybody: nothing of that belongs to a test, or to a measurement. */
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync'
]

/** Why there is none; `undefined`: there is one. */
export function obstacleToBrowser(): string | undefined {
  return existsSync(PATH) ? undefined : `there is no ${PATH}`
}

/** Starts it. @param flags beside its own */
export function startBrowser(flags: readonly string[] = []): Promise<Browser> {
  return chromium.launch({ executablePath: PATH, args: [...FLAGS, ...flags] })
}

/**
 * The same for a test. `undefined`: there is none, which one line says.
 *
 * @throws Error in CI, where a test that is left out would be a test that passes
 */
export async function openBrowser(): Promise<Browser | undefined> {
  if (obstacleToBrowser() !== undefined) install()
  const obstacle = obstacleToBrowser()
  if (obstacle === undefined) return startBrowser()
  if (process.env['CI'] !== undefined) throw new Error(`The browser tests cannot run: ${obstacle}.`)
  console.log(`Browser tests were left out: ${obstacle}.`)
  return undefined
}

function install(): void {
  if (process.platform !== 'linux' || process.getuid?.() !== 0 || which('apt-get') === undefined) return
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  const apt = (...args: string[]) => spawnSync('apt-get', ['-qq', ...args], { env, stdio: 'ignore' })
  apt('update')
  apt('install', '-y', '--no-install-recommends', 'chromium')
}
