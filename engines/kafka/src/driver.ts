/**
 * The driver of Kafka, as this package needs it: the requests that one broker answers. There are two drivers.
 * `connection/platformatic.ts` sends the requests with @platformatic/kafka, and `testing/fake-cluster.ts` answers them
 * inside the process, so that everything above runs without a server. `testing/driver-cases.ts` proves that both keep the
 * same promises.
 *
 * If the broker refuses a request or a part of it, the request rejects with an error. The error, or one of its `errors`,
 * then has a code of Kafka's protocol as `apiCode`, and the whole answer as `response`. After any other error, nobody
 * knows whether the broker has done what it was asked for.
 */
import type { CheckedOptions } from './options/options.ts'
import type { Aborted, Numbering } from './words/batch.ts'

/** Which records of a partition are read: the isolation levels of Kafka's protocol. */
export const Isolation = {
  /** All records, as soon as they are stored. */
  uncommitted: 0,
  /** No record of an aborted transaction, and nothing behind the beginning of an open one. */
  committed: 1
} as const

export type Isolation = (typeof Isolation)[keyof typeof Isolation]

/** Kafka's timestamps that stand for the end and the beginning of a partition. */
export const LATEST = -1n
export const EARLIEST = -2n

/** The `code` of an error of `connect`: the broker does not accept the credentials. */
export const UNAUTHENTICATED = 'PLT_KFK_AUTHENTICATION'

/** The address of a broker. */
export interface Broker {
  readonly host: string
  readonly port: number
}

/** The brokers of a cluster, and some of its topics. */
export interface Metadata {
  readonly brokers: readonly (Broker & { readonly nodeId: number })[]
  readonly topics: readonly {
    readonly name?: string | null | undefined
    readonly topicId: string
    /** 0: the topic exists. */
    readonly errorCode: number
    /** `leaderId` is -1 while the partition has no leader. */
    readonly partitions: readonly { readonly partitionIndex: number; readonly leaderId: number }[]
  }[]
}

/** A topic to be created. */
export interface NewTopic {
  readonly name: string
  readonly partitions: number
  readonly replicas: number
  readonly configs: Readonly<Record<string, string>>
}

/** Whether a topic was created; an error code other than 0 says why not. */
export interface MadeTopic {
  readonly name: string
  readonly errorCode: number
  readonly errorMessage: string | null
}

/** Records for one partition: Kafka stores all of them, or none. */
export interface Batch {
  readonly topic: string
  readonly partition: number
  /** As `writeRecord` returns them. */
  readonly records: readonly Buffer[]
  /** Milliseconds since 1970. */
  readonly timestamp: number
  readonly by?: Numbering | undefined
}

/** The outcome of a request that stores batches. */
export interface Produced {
  readonly responses: readonly {
    readonly name: string
    readonly partitionResponses: readonly {
      readonly index: number
      readonly errorCode: number
      /** The position of the first record; -1: the broker had stored the batch before, and does not know where. */
      readonly baseOffset: bigint
    }[]
  }[]
}

/** Partitions of one topic to be read, each from a position. */
export interface Wanted {
  readonly topicId: string
  readonly partitions: readonly { readonly partition: number; readonly next: bigint }[]
}

/** A broker's answer for one partition that was read. */
export interface FetchedBytes {
  readonly topicId: string
  readonly partition: number
  readonly errorCode: number
  /** The position behind the last record of the partition, also of an open transaction. */
  readonly end: bigint
  /** The transactions whose records among `bytes` do not count. */
  readonly aborted: readonly Aborted[]
  /** Batches of records, from the one on that has the wanted position. */
  readonly bytes: Buffer
}

/** The producer id that the brokers gave, which belongs to the sequence numbers. */
export interface ProducerId {
  readonly producerId: bigint
  readonly producerEpoch: number
}

/** One partition of a topic. */
export interface Partition {
  readonly topic: string
  readonly partition: number
}

/** A position that a group has committed. */
export interface GroupOffset extends Partition {
  readonly next: bigint
  readonly metadata: string
}

/** Partitions by the id of their topic. */
export interface PartitionsOfTopic {
  readonly topicId: string
  readonly partitions: readonly number[]
}

/** A heartbeat of a member. */
export interface Heartbeat {
  readonly group: string
  readonly memberId: string
  /** 0: the member joins; -1: it leaves. */
  readonly memberEpoch: number
  /** Milliseconds within which the member must release a partition. */
  readonly releasedWithin: number
  readonly topics: readonly string[]
  /** The partitions that the member has not released. */
  readonly owned: readonly PartitionsOfTopic[]
}

/** The answer of a group's coordinator to a heartbeat. */
export interface HeartbeatAnswer {
  readonly memberEpoch: number
  /** Milliseconds until the next heartbeat. */
  readonly heartbeatIntervalMs: number
  /** The partitions that belong to the member; `null`: they have not changed since the last answer. */
  readonly assignment: { readonly topicPartitions: readonly PartitionsOfTopic[] } | null
}

/** One connection to one broker. It never reconnects. Requests are answered one after the other. */
export interface DriverConnection {
  readonly broker: Broker
  /** @param topics `null`: all topics that this user may see */
  metadata(topics: readonly string[] | null): Promise<Metadata>
  /** Creates topics. @param within milliseconds until the broker gives up */
  createTopics(topics: readonly NewTopic[], within: number): Promise<readonly MadeTopic[]>
  deleteTopics(names: readonly string[], within: number): Promise<unknown>
  /**
   * Stores batches, at most one for each partition.
   * @param acks -1: all replicas have stored them when the broker answers; 1: the leader has
   */
  produce(acks: number, within: number, batches: readonly Batch[]): Promise<Produced>
  /** Reads records. @param patience milliseconds that the broker waits if there are none */
  fetch(wanted: readonly Wanted[], isolation: Isolation, patience: number): Promise<readonly FetchedBytes[]>
  /**
   * The positions of the first records of a time, by partition; -1: there is none.
   * @param timestamp milliseconds since 1970, or `LATEST` or `EARLIEST`
   * @param isolation whether `LATEST` is in front of the first open transaction
   */
  listOffsets(
    topic: string,
    partitions: readonly number[],
    timestamp: bigint,
    isolation: Isolation
  ): Promise<Map<number, bigint>>
  /** A producer id that nobody else has. */
  newProducerId(): Promise<ProducerId>
  /** The broker that coordinates a group. */
  coordinator(group: string): Promise<number>
  /** Only the coordinator of the group answers this request, and the three below. */
  heartbeat(heartbeat: Heartbeat): Promise<HeartbeatAnswer>
  /** @param memberId empty: nobody is a member of the group at the moment @param memberEpoch then -1 */
  commit(
    group: string,
    memberId: string,
    memberEpoch: number,
    positions: readonly GroupOffset[]
  ): Promise<unknown>
  /** The committed positions among some partitions. @param memberId `null`: no member @param memberEpoch then -1 */
  committed(
    group: string,
    memberId: string | null,
    memberEpoch: number,
    partitions: readonly Partition[]
  ): Promise<readonly GroupOffset[]>
  /** The ids of a group's members; none if there is no such group. */
  members(group: string): Promise<readonly string[]>
  /** The names of the groups that this broker coordinates. */
  groups(): Promise<readonly string[]>
  /** Ends the connection; resolves when it has ended. What waits for an answer fails. */
  close(): Promise<void>
  /** Ends the connection at once, without waiting for the broker. */
  destroy(): void
}

/** Connects to brokers. */
export interface Driver {
  /**
   * Connects once.
   * @param closed is called when the connection has ended, for whatever reason
   * @param signal ends the attempt, with its socket; a connection that stands stays
   * @throws the broker cannot be reached, or does not accept the credentials (`UNAUTHENTICATED`)
   */
  connect(
    broker: Broker,
    options: CheckedOptions,
    clientId: string,
    closed: () => void,
    signal?: AbortSignal
  ): Promise<DriverConnection>
}
