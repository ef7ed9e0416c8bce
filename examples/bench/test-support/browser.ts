/** Debian's Chromium, for what only a browser can tell. Where there is none and this may install it, it does. */
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

/**
 * Starts it. `undefined`: there is none, which one line says.
 *
 * @throws Error in CI, where a test that is left out would be a test that passes
 */
export async function openBrowser(): Promise<Browser | undefined> {
  if (!existsSync(PATH)) install()
  if (existsSync(PATH)) return chromium.launch({ executablePath: PATH, args: FLAGS })
  const complaint = `There is no ${PATH}: the browser tests of the report`
  if (process.env['CI'] !== undefined) throw new Error(`${complaint} cannot run.`)
  console.log(`${complaint} were left out.`)
  return undefined
}

function install(): void {
  if (process.platform !== 'linux' || process.getuid?.() !== 0 || Bun.which('apt-get') === null) return
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  const apt = (...args: string[]) =>
    Bun.spawnSync(['apt-get', '-qq', ...args], { env, stdio: ['ignore', 'ignore', 'ignore'] })
  apt('update')
  apt('install', '-y', '--no-install-recommends', 'chromium')
}
