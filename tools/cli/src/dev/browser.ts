/** Opens a page in the machine's browser. */
import { spawn } from 'node:child_process'

/** Opens a URL. A missing browser is no error, because the log has the address. */
export function openBrowser(url: string): void {
  const program = process.platform === 'darwin' ? 'open' : 'xdg-open'
  const child = spawn(program, [url], { stdio: 'ignore', detached: true })
  child.once('error', () => {})
  child.unref()
}
