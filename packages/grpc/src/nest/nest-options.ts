/** How the options of Nest's gRPC are answered. */
import { OptionError } from '@elysia-microservices/transport/kit'
import { type NestOption, type NestTable, onlyIf } from '@elysia-microservices/transport/nest'

const NOT_READ = { needless: 'grpc-js does not read it either' }
const IN_PROTO = 'the same; without Nest it is part of `proto`'
const DRAINS = 'a service always drains'
const NO_CHANNEL = 'a client has one pool of connections of its own'
const READS_ITSELF = 'files are read by this library'

const SENT: NestOption = {
  ours: 'methods.mostSent',
  convert: sizeOrNone,
  said: "the same, in Nest's form only"
}
const RECEIVED: NestOption = { ours: 'limits.messageSize', convert: sizeOrFalse }
const METADATA: NestOption = {
  ours: 'forServer.limits.headerSize',
  said: '`limits.headerSize` of the service'
}
const INTERVAL: NestOption = { ours: 'keepalive.interval', convert: timeOrNone }
const TIMEOUT: NestOption = { ours: 'keepalive.timeout' }
const WHEN_IDLE: NestOption = {
  needless: 'a service always asks; a client asks while calls are in flight',
  convert: flag,
  said: 'not needed: a service always asks; a client asks while calls are in flight'
}

/** The options of Nest's gRPC, service and client. */
export const GRPC_NEST_OPTIONS = {
  url: { ours: 'methods.url', said: '`host` and `port`, or `path`' },
  package: { ours: 'methods.package', said: IN_PROTO },
  protoPath: { ours: 'methods.protoPath', said: IN_PROTO },
  packageDefinition: { ours: 'methods.packageDefinition', said: "the same, in Nest's form only" },
  protoLoader: {
    needless: READS_ITSELF,
    convert: onlyIf(['@grpc/proto-loader'], `${READS_ITSELF}; give options.packageDefinition`)
  },
  'loader.keepCase': { ours: 'methods.loader.keepCase', said: IN_PROTO },
  'loader.longs': { ours: 'methods.loader.longs', said: IN_PROTO },
  'loader.enums': { ours: 'methods.loader.enums', said: IN_PROTO },
  'loader.bytes': { ours: 'methods.loader.bytes', said: IN_PROTO },
  'loader.defaults': { ours: 'methods.loader.defaults', said: IN_PROTO },
  'loader.arrays': { ours: 'methods.loader.arrays', said: IN_PROTO },
  'loader.objects': { ours: 'methods.loader.objects', said: IN_PROTO },
  'loader.oneofs': { ours: 'methods.loader.oneofs', said: IN_PROTO },
  'loader.includeDirs': { ours: 'methods.loader.includeDirs', said: IN_PROTO },
  'loader.alternateCommentMode': { needless: 'comments are not kept' },
  'loader.json': {
    needless: 'numbers stay numbers',
    convert: onlyIf([false], 'NaN and Infinity are numbers; read a google.protobuf.Any by protoOf()')
  },
  maxSendMessageLength: SENT,
  maxReceiveMessageLength: RECEIVED,
  maxMetadataSize: METADATA,
  'keepalive.keepaliveTimeMs': INTERVAL,
  'keepalive.keepaliveTimeoutMs': TIMEOUT,
  'keepalive.keepalivePermitWithoutCalls': WHEN_IDLE,
  'keepalive.http2MaxPingsWithoutData': NOT_READ,
  'keepalive.http2MinTimeBetweenPingsMs': NOT_READ,
  'keepalive.http2MinPingIntervalWithoutDataMs': NOT_READ,
  'keepalive.http2MaxPingStrikes': NOT_READ,
  credentials: {
    ours: 'methods.credentials',
    said: '`tls`; credentials of a client with TLS are refused, as they hide what is in them'
  },
  gracefulShutdown: { needless: DRAINS },
  onLoadPackageDefinition: {
    instead: 'the options reflection and health answer those services; give others to a controller'
  },
  'channelOptions.grpc.max_send_message_length': SENT,
  'channelOptions.grpc.max_receive_message_length': RECEIVED,
  'channelOptions.grpc.max_metadata_size': METADATA,
  'channelOptions.grpc.keepalive_time_ms': INTERVAL,
  'channelOptions.grpc.keepalive_timeout_ms': TIMEOUT,
  'channelOptions.grpc.keepalive_permit_without_calls': WHEN_IDLE,
  'channelOptions.grpc.max_concurrent_streams': {
    ours: 'forServer.limits.streams',
    said: '`limits.streams` of the service'
  },
  'channelOptions.grpc.max_connection_age_ms': {
    ours: 'forServer.limits.age',
    said: '`limits.age` of the service'
  },
  'channelOptions.grpc.max_connection_idle_ms': {
    ours: 'forServer.limits.idle',
    said: '`limits.idle` of the service'
  },
  'channelOptions.grpc.max_connection_age_grace_ms': { needless: DRAINS },
  'channelOptions.grpc.ssl_target_name_override': {
    ours: 'forClient.tls.servername',
    said: '`tls.servername`'
  },
  'channelOptions.grpc.primary_user_agent': {
    instead: 'give the metadata of a call the name of your program'
  },
  'channelOptions.grpc.secondary_user_agent': {
    instead: 'give the metadata of a call the name of your program'
  },
  'channelOptions.grpc.default_authority': { instead: 'give url the name of the server' },
  'channelOptions.grpc.service_config': {
    instead: 'retry and timeouts are options of a client of this library'
  },
  'channelOptions.grpc.initial_reconnect_backoff_ms': { needless: 'a client connects when a call is made' },
  'channelOptions.grpc.max_reconnect_backoff_ms': { needless: 'a client connects when a call is made' },
  'channelOptions.grpc.use_local_subchannel_pool': { needless: NO_CHANNEL },
  'channelOptions.grpc-node.max_session_memory': { needless: '`limits` bound the memory of a connection' }
} as const satisfies NestTable

/** In grpc-js, -1 means no limit. */
function sizeOrNone(value: unknown): unknown {
  return value === -1 ? undefined : value
}

function sizeOrFalse(value: unknown): unknown {
  return value === -1 ? false : value
}

/** In grpc-js, the largest number means never. */
function timeOrNone(value: unknown): unknown {
  return typeof value === 'number' && value >= 2 ** 31 - 1 ? undefined : value
}

function flag(value: unknown, path: string): undefined {
  if (![true, false, 0, 1].includes(value as boolean | number))
    throw OptionError.expected(path, 'true, false, 1 or 0', value)
}
