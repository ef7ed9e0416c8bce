/** How the options of NestJS's Kafka transport are answered. */
import { NEST_SHARED, type NestTable, onlyIf, RECONNECTS } from '@elysia-microservices/transport/nest'

const OF_BROKERS = 'the brokers decide it'
const FETCHING = 'records are fetched in batches of a size that suits them'
const SENDING = 'each record is stored by all replicas, once'
const COMMITS = 'a position is committed when its handler has ended'

/** The options of NestJS's Kafka transport, service and client. */
export const KAFKA_NEST_OPTIONS = {
  ...NEST_SHARED,
  postfixId: { needless: 'a group ends in `-server`' },
  producerOnlyMode: { needless: 'a client joins no group' },
  'client.brokers': { ours: 'brokers', convert: brokersOf },
  'client.ssl': {
    ours: 'tls',
    convert: (value) => (value === false || value === 'false' ? undefined : value === 'true' ? true : value)
  },
  'client.sasl': { ours: 'sasl', convert: saslOf },
  'client.clientId': { ours: 'clientName' },
  'client.connectionTimeout': { ours: 'connectTimeout' },
  'client.authenticationTimeout': { needless: 'it is part of `connectTimeout`' },
  'client.reauthenticationThreshold': { needless: OF_BROKERS },
  'client.requestTimeout': { needless: 'calls have their own timeout' },
  'client.enforceRequestTimeout': { needless: 'calls have their own timeout' },
  'client.retry': RECONNECTS,
  'client.socketFactory': { instead: "the sockets are the driver's own" },
  'client.logLevel': { needless: 'the service and the client have a `logger`' },
  'client.logCreator': { needless: 'the service and the client have a `logger`' },
  'consumer.groupId': { ours: 'service.group' },
  'consumer.partitionAssigners': { needless: OF_BROKERS },
  'consumer.metadataMaxAge': { needless: 'a leader that has changed is noticed' },
  'consumer.sessionTimeout': { needless: OF_BROKERS },
  'consumer.rebalanceTimeout': { needless: OF_BROKERS },
  'consumer.heartbeatInterval': { needless: OF_BROKERS },
  'consumer.maxBytesPerPartition': { needless: FETCHING },
  'consumer.minBytes': { needless: FETCHING },
  'consumer.maxBytes': { needless: FETCHING },
  'consumer.maxWaitTimeInMs': { needless: FETCHING },
  'consumer.retry': RECONNECTS,
  'consumer.allowAutoTopicCreation': { needless: 'topics of handlers are created' },
  'consumer.maxInFlightRequests': { needless: FETCHING },
  'consumer.readUncommitted': { ours: 'readUncommitted' },
  'consumer.rackId': { needless: 'records are read from the leader' },
  'run.autoCommit': { needless: COMMITS },
  'run.autoCommitInterval': { needless: COMMITS },
  'run.autoCommitThreshold': { needless: COMMITS },
  'run.eachBatchAutoResolve': { needless: COMMITS },
  'run.partitionsConsumedConcurrently': { needless: 'messages run at the same time anyway' },
  'subscribe.fromBeginning': {
    ours: 'start',
    convert: (value) => (value === true || value === 'true' ? 'all' : 'new')
  },
  'producer.createPartitioner': { ours: 'createPartitioner' },
  'producer.retry': RECONNECTS,
  'producer.metadataMaxAge': { needless: 'a leader that has changed is noticed' },
  'producer.allowAutoTopicCreation': { needless: 'topics of handlers are created' },
  'producer.idempotent': { needless: SENDING },
  'producer.transactionalId': { instead: 'publish from an outbox (docs/outbox.md)' },
  'producer.transactionTimeout': { instead: 'publish from an outbox (docs/outbox.md)' },
  'producer.maxInFlightRequests': { needless: SENDING },
  'send.acks': { needless: SENDING },
  'send.timeout': { needless: 'calls have their own timeout' },
  'send.compression': { needless: 'records are sent as they are' },
  'parser.keepBinary': {
    needless: 'values are text',
    convert: onlyIf([false, 'false'], 'values are text; encode bytes, such as in Base64')
  }
} as const satisfies NestTable

function brokersOf(value: unknown, path: string): unknown {
  return typeof value === 'function'
    ? onlyIf([], 'give the list that the function returns')(value, path)
    : value
}

/** NestJS's mechanisms have lower case, and the token comes with a name. */
function saslOf(value: unknown, path: string): unknown {
  const { mechanism, oauthBearerProvider, authenticationProvider, ...others } = Object(value) as {
    readonly mechanism?: unknown
    readonly oauthBearerProvider?: () => Promise<{ readonly value: string }>
    readonly authenticationProvider?: unknown
  }
  if (authenticationProvider !== undefined || mechanism === 'aws')
    onlyIf([], 'its mechanisms are PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 and OAUTHBEARER')(value, path)
  return {
    ...others,
    mechanism: String(mechanism).toUpperCase(),
    ...(oauthBearerProvider && { token: async () => (await oauthBearerProvider()).value })
  }
}
