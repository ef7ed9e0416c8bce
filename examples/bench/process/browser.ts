/**
 * Debian's Chromium, for tests and measurements that need a browser. If it is missing and may be installed, it is
 * installed.
 */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { type Browser, chromium } from 'playwright-core'
import { which } from './runtime.ts'

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

/** Why there is no browser; `undefined`: there is one. */
export function obstacleToBrowser(): string | undefined {
  return existsSync(PATH) ? undefined : `there is no ${PATH}`
}

/** Starts the browser. @param flags further flags */
export function startBrowser(flags: readonly string[] = []): Promise<Browser> {
  return chromium.launch({ executablePath: PATH, args: [...FLAGS, ...flags] })
}

/**
 * Starts the browser for a test. `undefined`: there is none, which one line reports.
 *
 * @throws Error in CI, where no test may be skipped
 */
export async function openBrowser(): Promise<Browser | undefined> {
  if (obstacleToBrowser() !== undefined) install()
  const obstacle = obstacleToBrowser()
  if (obstacle === undefined) return startBrowser()
  if (process.env['CI'] !== undefined) throw new Error(`The browser tests cannot run: ${obstacle}.`)
  console.log(`Browser tests are skipped: ${obstacle}.`)
  return undefined
}

function install(): void {
  if (process.platform !== 'linux' || process.getuid?.() !== 0 || which('apt-get') === undefined) return
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  const apt = (...args: string[]) => spawnSync('apt-get', ['-qq', ...args], { env, stdio: 'ignore' })
  apt('update')
  apt('install', '-y', '--no-install-recommends', 'chromium')
}
