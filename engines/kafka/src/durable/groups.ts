/**
 * Keeps which groups are paused: a topic has one record for each paused group, and all processes with durable
 * handlers read the topic.
 */
import { unknownGroup } from '@elysia-microservices/engine'
import { ConnectionError, ListenError } from '@elysia-microservices/transport/kit'
import type { Cluster } from '../connection/cluster.ts'
import { isForbidden } from '../connection/errors.ts'
import { Group } from '../connection/group.ts'
import type { KafkaConnection } from '../connection/kafka-connection.ts'
import { positionOf } from '../connection/positions.ts'
import { Reader } from '../connection/reader.ts'
import { EARLIEST, Isolation, LATEST } from '../driver.ts'
import { HEADER } from '../words/headers.ts'
import { GROUPS, isGroupOf, isInbox } from '../words/names.ts'
import { put } from './copies.ts'
import { GROUPS_TOPIC } from './groups-topic.ts'
import type { NotedPositions } from './noted.ts'

/** Milliseconds within which all members of a group must confirm that the group is paused or resumed. */
const MEMBERS_KNOW = 5_000
const PAUSED = 'paused'

/** The paused groups, as one process knows them. */
export class PausedGroups {
  readonly #connection: KafkaConnection
  readonly #changed: (group: string) => readonly string[]
  readonly #paused = new Set<string>()
  readonly #reader: Reader
  #known = 0n

  /**
   * @param noted takes the other records of the topic
   * @param changed is called with a group that was paused or resumed, and returns the ids of the group's members in
   * this process
   */
  constructor(
    connection: KafkaConnection,
    noted: NotedPositions,
    changed: (group: string) => readonly string[],
    failed: (error: unknown) => void
  ) {
    this.#connection = connection
    this.#changed = changed
    this.#reader = new Reader(connection.cluster, 'paused', Isolation.uncommitted, {
      receive: (fetched) => {
        for (const { records, next } of fetched) {
          for (const record of records) {
            if (noted.take(record)) continue
            const group = record.keyText ?? ''
            if (record.value === undefined) this.#paused.delete(group)
            else this.#paused.add(group)
            this.#answer(group, record.header(HEADER.reply))
          }
          this.#known = next
        }
      },
      gone: () => this.#position(EARLIEST),
      failed
    })
  }

  /**
   * Resolves when all records that the topic has now are read.
   * @throws {ListenError} Kafka does not let this user create or read the topic
   */
  async start(): Promise<void> {
    await this.#connection.cluster.ensure([GROUPS_TOPIC])
    const [from, to] = [await this.#position(EARLIEST), await this.#position(LATEST)]
    this.#reader.add(GROUPS, 0, from)
    while (this.#known < to && from < to && this.#connection.isConnected) {
      const { failure } = this.#reader
      if (isForbidden(failure))
        throw new ListenError(
          `Kafka: the topic '${GROUPS}' cannot be read`,
          new Error('give this user the right to Read it', { cause: failure })
        )
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
  }

  #position(time: bigint): Promise<bigint> {
    return positionOf(this.#connection.cluster, GROUPS, 0, time, Isolation.uncommitted)
  }

  has(group: string): boolean {
    return this.#paused.has(group)
  }

  #answer(group: string, reply: string | undefined): void {
    const members = this.#changed(group)
    if (reply === undefined || !isInbox(reply)) return
    for (const member of members) this.#connection.publish(reply, member)
  }

  restored(): void {
    this.#reader.restored()
  }

  stop(): Promise<void> {
    return this.#reader.stop()
  }
}

/**
 * Pauses or resumes a group. Resolves when all members of the group have confirmed.
 * @throws {OptionError} there is no such group
 * @throws {ConnectionError} some members have not confirmed in time
 */
export async function pauseGroup(
  connection: KafkaConnection,
  group: string,
  isPaused: boolean
): Promise<void> {
  const { cluster } = connection
  const members = await membersOf(cluster, group)
  if (members === undefined) throw unknownGroup(group, 'on this Kafka cluster')
  const inbox = connection.newInbox()
  let late: ReturnType<typeof setTimeout> | undefined
  try {
    await new Promise<void>((resolve, reject) => {
      const known = () => {
        if (members.size === 0) resolve()
      }
      late = setTimeout(() => {
        const message = `Not all processes of the group '${group}' have confirmed that it is paused or resumed; try again`
        reject(new ConnectionError(message, true))
      }, MEMBERS_KNOW)
      connection.listen(inbox, ({ words }) => {
        members.delete(words.toString())
        known()
      })
      const headers = { [HEADER.reply]: `${inbox}1` }
      const value = isPaused ? Buffer.from(PAUSED) : undefined
      put(cluster, GROUPS_TOPIC, { partition: 0, key: Buffer.from(group), value, headers }).then(
        known,
        reject
      )
    })
  } finally {
    clearTimeout(late)
    connection.unhear(inbox)
  }
}

/** The ids of a group's members, for all patterns of the group; `undefined`: the group does not exist. */
export async function membersOf(cluster: Cluster, name: string): Promise<Set<string> | undefined> {
  const members = new Set<string>()
  let isThere = false
  for (const node of cluster.nodes) {
    for (const groupId of await cluster.ask(node, 'main', (broker) => broker.groups())) {
      if (!isGroupOf(name, groupId)) continue
      isThere = true
      for (const id of await new Group(cluster, groupId).members()) members.add(id)
    }
  }
  return isThere ? members : undefined
}
