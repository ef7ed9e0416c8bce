/** The commit of this project that is measured. */
import { spawnSync } from 'node:child_process'
import { BENCH_FOLDER } from './folder.ts'

/** Its short name, with `+` if files have changed since; `null`: this is not a clone. */
export function currentCommit(): string | null {
  const name = git('rev-parse', '--short=10', 'HEAD')
  if (name === undefined || name === '') return null
  return git('status', '--porcelain', '--untracked-files=no') === '' ? name : `${name}+`
}

function git(...args: string[]): string | undefined {
  const { stdout, status } = spawnSync('git', args, { cwd: BENCH_FOLDER, encoding: 'utf8' })
  return status === 0 ? stdout.trim() : undefined
}
