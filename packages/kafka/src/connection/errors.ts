/** Reads the driver's errors as codes of Kafka's protocol. */
import { ConnectionError } from '@elysia-microservices/transport/kit'

/** Error codes of the protocol that we act by. */
export const Code = {
  offsetOutOfRange: 1,
  unknownTopic: 3,
  leaderNotAvailable: 5,
  notLeader: 6,
  messageTooLarge: 10,
  coordinatorLoading: 14,
  coordinatorNotAvailable: 15,
  notCoordinator: 16,
  recordListTooLarge: 18,
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

/** The codes that brokers have answered with. */
export function codesIn(error: unknown): number[] {
  if (typeof error !== 'object' || error === null) return []
  const { apiCode, errors = [], cause } = error as DriversError
  const own = typeof apiCode === 'number' ? [apiCode] : []
  return [...own, ...[...errors, cause].flatMap(codesIn)]
}

/** The answer of a broker, also if it says an error of a part of it. */
export async function responseOf<Answer>(asked: Promise<Answer>): Promise<Answer> {
  try {
    return await asked
  } catch (error) {
    const { response } = Object(error) as DriversError
    if (response === undefined) throw error
    return response as Answer
  }
}

/** Whether a broker has not been asked, because there is no connection to it. */
export function isUnreached(error: unknown): boolean {
  return error instanceof ConnectionError && !error.mayHaveRun
}

/** Whether a broker does not accept the credentials. */
export function isUnauthenticated(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return false
  const { code, errors = [], cause } = error as DriversError
  return code === 'PLT_KFK_AUTHENTICATION' || [...errors, cause].some(isUnauthenticated)
}
