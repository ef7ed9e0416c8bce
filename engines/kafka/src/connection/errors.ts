/** Reads the driver's errors as codes of Kafka's protocol. */
import { ConnectionError, MicroserviceError } from '@elysia-microservices/transport/kit'
import { UNAUTHENTICATED } from '../driver.ts'

/** Error codes of Kafka's protocol to which this package reacts. */
export const Code = {
  offsetOutOfRange: 1,
  unknownTopic: 3,
  leaderNotAvailable: 5,
  notLeader: 6,
  timedOut: 7,
  messageTooLarge: 10,
  coordinatorLoading: 14,
  coordinatorNotAvailable: 15,
  notCoordinator: 16,
  recordListTooLarge: 18,
  replicasLeft: 20,
  unknownMember: 25,
  topicAuthorization: 29,
  groupAuthorization: 30,
  topicExists: 36,
  invalidReplicas: 38,
  outOfOrderSequence: 45,
  duplicateSequence: 46,
  invalidProducerEpoch: 47,
  unknownProducer: 59,
  groupNotFound: 69,
  fencedLeader: 74,
  unknownLeader: 75,
  unknownTopicId: 100,
  fencedMember: 110,
  staleMember: 113
} as const

interface DriversError {
  readonly apiCode?: unknown
  readonly code?: unknown
  readonly errors?: readonly unknown[]
  readonly cause?: unknown
  readonly response?: unknown
}

/** The error codes in a failure of the driver, and in the failures nested in it. */
export function codesIn(error: unknown): number[] {
  if (typeof error !== 'object' || error === null) return []
  const { apiCode, errors = [], cause } = error as DriversError
  const own = typeof apiCode === 'number' ? [apiCode] : []
  return [...own, ...[...errors, cause].flatMap(codesIn)]
}

/** The error for a code in an answer that the driver does not take for a failure. */
export function answeredWith(code: number, what: string): Error {
  return Object.assign(new Error(`Kafka answers with error ${code} when ${what}`), { apiCode: code })
}

/** Whether a failure says that this user lacks rights on a topic or a group. */
export function isForbidden(error: unknown): boolean {
  return codesIn(error).some((code) => code === Code.topicAuthorization || code === Code.groupAuthorization)
}

/** Returns a broker's answer, also if the answer has an error for one of its topics or partitions. */
export async function responseOf<Answer>(asked: Promise<Answer>): Promise<Answer> {
  try {
    return await asked
  } catch (error) {
    const { response } = Object(error) as DriversError
    if (response === undefined) throw error
    return response as Answer
  }
}

/** Whether a request was never sent, because there is no connection to the broker. */
export function isUnreached(error: unknown): boolean {
  return error instanceof ConnectionError && !error.mayHaveRun && !isForbidden(error)
}

/** Whether a failure says that the broker does not accept the credentials. */
export function isUnauthenticated(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return false
  const { code, errors = [], cause } = error as DriversError
  return code === UNAUTHENTICATED || [...errors, cause].some(isUnauthenticated)
}

/**
 * The error that the operating system or TLS gives, whose code callers know. @returns an error without a code if there
 * is none: the codes of the driver are not part of this library
 */
export function systemErrorIn(error: unknown): unknown {
  return withSystemCode(error) ?? new Error(reasonOf(Object(error)), { cause: error })
}

function withSystemCode(error: unknown): unknown {
  if (typeof error !== 'object' || error === null) return undefined
  const { code, errors = [], cause } = error as DriversError
  if (typeof code === 'string' && !code.startsWith('PLT_KFK_')) return error
  for (const one of [...errors, cause]) {
    const found = withSystemCode(one)
    if (found !== undefined) return found
  }
  return undefined
}

/**
 * Converts an error of the driver to an error of this library.
 * @param what was attempted
 * @param mayHaveRun whether the request may have reached a broker, and a service
 */
export function readableError(error: unknown, what: string, mayHaveRun = true): Error {
  if (error instanceof MicroserviceError) return error
  if (isForbidden(error))
    return new ConnectionError(
      `${what}: Kafka does not let this user do that (${reasonOf(error)})`,
      false,
      error,
      false
    )
  return new ConnectionError(`${what}: ${reasonOf(error)}`, mayHaveRun, systemErrorIn(error))
}

/** The reason that a broker or the operating system gives; the driver's own message only says what was asked. */
export function reasonOf(error: unknown): string {
  const { errors = [], cause, message } = error as DriversError & { readonly message?: string }
  if (errors.length > 0) return reasonOf(errors[0])
  return cause instanceof Error ? reasonOf(cause) : String(message)
}
