/**
 * Keeps which groups are paused: the last word about each is in a topic that all processes with durable handlers read.
 */
import { ConnectionError, OptionError } from '@elysia-microservices/transport/kit'
import { listGroupsV5 } from '@platformatic/kafka'
import type { Cluster, WantedTopic } from '../connection/cluster.ts'
import { describeGroupApi } from '../connection/corrected-apis.ts'
import { Group } from '../connection/group.ts'
import type { KafkaConnection } from '../connection/kafka-connection.ts'
import { EARLIEST, LATEST, positionOf, Reader } from '../connection/reader.ts'
import { HEADER } from '../words/headers.ts'
import { GROUPS, isInbox } from '../words/names.ts'
import { put } from './copies.ts'

/** Milliseconds for the members of a group to say that they know it is paused. */
const MEMBERS_KNOW = 5_000
const PAUSED = 'paused'

/** Its records are about groups; the last of each is kept. */
const TOPIC: WantedTopic = { name: GROUPS, partitions: 1, configs: { 'cleanup.policy': 'compact' } }

/** The name at Kafka of the group for one pattern: Kafka keeps positions, and shares partitions, for all of a group. */
export function groupAt(group: string, pattern: string): string {
  return `${group}.${pattern}`
}

/** The paused groups, as one process knows them. */
export class PausedGroups {
  readonly #connection: KafkaConnection
  readonly #changed: (group: string) => readonly string[]
  readonly #paused = new Set<string>()
  readonly #reader: Reader
  #known = 0n

  /** @param changed is told of a group that was paused or resumed; gives the ids of its members here */
  constructor(
    connection: KafkaConnection,
    changed: (group: string) => readonly string[],
    failed: (error: unknown) => void
  ) {
    this.#connection = connection
    this.#changed = changed
    this.#reader = new Reader(connection.cluster, 'paused', {
      receive: (fetched) => {
        for (const { records, next } of fetched) {
          for (const record of records) {
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

  /** Resolves when all is known that has been said so far. */
  async start(): Promise<void> {
    await this.#connection.cluster.ensure([TOPIC])
    const [from, to] = [await this.#position(EARLIEST), await this.#position(LATEST)]
    this.#reader.add(GROUPS, 0, from)
    while (this.#known < to && from < to && this.#connection.isConnected)
      await new Promise((resolve) => setTimeout(resolve, 10))
  }

  #position(time: bigint): Promise<bigint> {
    return positionOf(this.#connection.cluster, GROUPS, 0, time)
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
 * Pauses or resumes a group. Resolves when all its members know it.
 * @throws {OptionError} there is no such group
 * @throws {ConnectionError} not all members have said that they know it
 */
export async function pauseGroup(
  connection: KafkaConnection,
  group: string,
  isPaused: boolean
): Promise<void> {
  const { cluster } = connection
  const members = await membersOf(cluster, group)
  if (members === undefined)
    throw new OptionError(
      'group',
      `There is no group '${group}' on this Kafka cluster: it begins with its first service`
    )
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
      put(cluster, TOPIC, { partition: 0, key: Buffer.from(group), value, headers }).then(known, reject)
    })
  } finally {
    clearTimeout(late)
    connection.unhear(inbox)
  }
}

/** The members of a group, for all its patterns; `undefined`: there is no such group. */
async function membersOf(cluster: Cluster, name: string): Promise<Set<string> | undefined> {
  const members = new Set<string>()
  let isThere = false
  for (const node of cluster.nodes) {
    const { groups } = await cluster.ask(node, 'main', listGroupsV5.api, [], [])
    for (const { groupId } of groups) {
      if (!groupId.startsWith(`${name}.`)) continue
      isThere = true
      const coordinator = await new Group(cluster, groupId).coordinator()
      for (const id of await cluster.ask(coordinator, 'main', describeGroupApi, [groupId], false))
        members.add(id)
    }
  }
  return isThere ? members : undefined
}
