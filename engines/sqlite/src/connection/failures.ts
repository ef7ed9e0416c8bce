/** Errors of SQLite about a file. They are told apart by SQLite's codes, which all runtimes have, and not by their texts. */
import { ConnectionError, OptionError } from '@elysia-microservices/transport/kit'

const Code = {
  busy: 5,
  locked: 6,
  readOnly: 8,
  disk: 10,
  corrupt: 11,
  full: 13,
  cannotOpen: 14,
  notADatabase: 26
} as const

function codeOf(error: unknown): number {
  // The code of Bun, and that of Node; their upper bits say more.
  const { errno, errcode = errno } = Object(error) as { readonly errno?: unknown; readonly errcode?: unknown }
  return Number(errcode) & 0xff
}

/** Whether another connection has the file. */
export function isLocked(error: unknown): boolean {
  const code = codeOf(error)
  return code === Code.busy || code === Code.locked
}

/** The error for a file that cannot be opened or read at the start, with what a user can do. */
export function openFailure(file: string, cause: unknown): Error {
  if (cause instanceof OptionError || cause instanceof ConnectionError) return cause
  const { message } = cause as Error
  const refusal = refusalOf(codeOf(cause), file, message)
  if (refusal !== undefined) return new OptionError('file', refusal, cause)
  const advice = ADVICE[codeOf(cause)]
  return new ConnectionError(
    `SQLite cannot open '${file}': ${message}${advice === undefined ? '' : `; ${advice}`}`,
    false,
    cause
  )
}

/** Why the file cannot be used, however long one waits; `undefined`: it may be used later. */
function refusalOf(code: number, file: string, message: string): string | undefined {
  if (code === Code.notADatabase) return `'${file}' is no SQLite file: give sqlite() another name`
  if (code === Code.corrupt)
    return `'${file}' is damaged (${message}): restore it from a backup, or move it and '${file}-wal' aside, and sqlite() begins a new file`
  if (code === Code.readOnly)
    return `'${file}' cannot be written by this process (${message}): allow it to write the file and its folder, or give sqlite() another name`
  return undefined
}

const ADVICE: Readonly<Record<number, string>> = {
  [Code.cannotOpen]: 'it must be the name of a file, in a folder that this process may write',
  [Code.full]: 'make room on its disk',
  [Code.disk]: 'check that this process may write it, and the room on its disk'
}
