/** Bundles programs for browsers and edge runtimes with esbuild. */
import { execFileSync } from 'node:child_process'
import path from 'node:path'
import { rootFolder } from '../workspace.ts'

/** Bundles a program with our packages as they are published. Its imports are relative to `tests/websocket`. */
export function bundled(input: string, ...flags: string[]): string {
  return execFileSync(
    path.join(rootFolder, 'node_modules/.bin/esbuild'),
    ['--bundle', '--format=esm', '--platform=browser', '--log-level=warning', '--tsconfig-raw={}', ...flags],
    { input, cwd: path.join(rootFolder, 'tests', 'websocket'), encoding: 'utf8' }
  )
}
