/** Converts Redis's refusals to store something to errors of this library, with advice. */
import { ConnectionError, MicroserviceError, NotStoredError } from '@elysia-microservices/transport/kit'

/** Errors that pass by themselves: a server is starting, or another server takes over. */
const PASSES = /\b(LOADING|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|MOVED|ASK|READONLY|UNBLOCKED|NOREPLICAS|BUSY)\b/

const ADVICE: readonly (readonly [says: RegExp, advice: string])[] = [
  [
    /\bOOM\b/,
    "its memory is full: raise its maxmemory, or free some: a shorter options.durable.maxAge, dead letters, 'XTRIM'"
  ],
  [/\bMISCONF\b/, 'it cannot write to its disk: its log says why'],
  [/\bNOPERM\b/, 'give its user the rights of docs/redis.md'],
  [/\bWRONGTYPE\b/, 'something else has the key of a stream: delete it']
]

/** Whether a command that the server has refused is worth another attempt. */
export function passes(error: Error): boolean {
  return PASSES.test(error.message)
}

/** Whether the server has no memory left. */
export function isFull(error: Error): boolean {
  return /\bOOM\b/.test(error.message)
}

/** Whether an error says that a group or its stream does not exist. */
export function isGone(error: unknown): boolean {
  return /\bNOGROUP\b|requires the key to exist|no such key/i.test((error as Error).message)
}

/** Whether the server will refuse a command about a stream again and again. */
export function isFinal(error: Error): boolean {
  return isGone(error) || /\b(NOPERM|WRONGTYPE)\b/.test(error.message)
}

/** The error for something that the server does not store. */
export function notStored(what: string, error: Error): NotStoredError {
  const says = error.message.replace(/ script: .*$/s, '')
  const advice = ADVICE.find(([pattern]) => pattern.test(error.message))?.[1]
  return new NotStoredError(
    `Redis does not store ${what}: it says '${says}'${advice === undefined ? '' : `; ${advice}`}`,
    !/\b(NOPERM|WRONGTYPE)\b/.test(error.message),
    error
  )
}

/** Converts an error of the driver to an error of this library. */
export function readableError(error: unknown, what: string): Error {
  if (error instanceof MicroserviceError) return error
  const cause = error as Error
  if (cause.name === 'ReplyError') return notStored(what, cause)
  return new ConnectionError(`Redis does not answer about ${what} (${cause.message})`, false, cause)
}
