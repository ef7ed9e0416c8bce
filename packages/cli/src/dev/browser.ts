/** Opens a page in the browser of the machine. */
import { spawn } from 'node:child_process'

/** A machine without a browser has the address in the log, and nothing more is said. */
export function openBrowser(url: string): void {
  const program = process.platform === 'darwin' ? 'open' : 'xdg-open'
  const child = spawn(program, [url], { stdio: 'ignore', detached: true })
  child.once('error', () => {})
  child.unref()
}
