/** A peer around rsocket-js 1.0; see peer-protocol.ts. */
import { once } from 'node:events'
import net from 'node:net'
import { createInterface } from 'node:readline'
import {
  decodeAuthMetadata,
  decodeCompositeMetadata,
  decodeRoutes,
  decodeSimpleAuthPayload,
  encodeBearerAuthMetadata,
  encodeCompositeMetadata,
  encodeRoute,
  encodeSimpleAuthMetadata,
  WellKnownMimeType
} from 'rsocket-composite-metadata'
import {
  ErrorCodes,
  type OnNextSubscriber,
  type OnTerminalSubscriber,
  type Payload,
  type RSocket,
  RSocketConnector,
  RSocketError,
  RSocketServer
} from 'rsocket-core'
import { TcpClientTransport } from 'rsocket-tcp-client'
import { TcpServerTransport } from 'rsocket-tcp-server'
import type { Command, Kind, PeerCredentials, PeerEvent, RequestMetadata } from '../../peer-protocol.ts'

const {
  MESSAGE_RSOCKET_ROUTING,
  MESSAGE_RSOCKET_AUTHENTICATION,
  MESSAGE_RSOCKET_MIMETYPE,
  MESSAGE_RSOCKET_COMPOSITE_METADATA,
  APPLICATION_JSON
} = WellKnownMimeType

/** The methods of a stream; each side lacks those that it may not call. */
type Handle = Partial<OnNextSubscriber & OnTerminalSubscriber & { request(n: number): void; cancel(): void }>

const closeables = new Map<string, { close(): void }>()
const rsockets = new Map<string, RSocket>()
const streams = new Map<string, Handle>()
let named = 0

function say(event: PeerEvent): void {
  process.stdout.write(`${JSON.stringify(event)}\n`)
}

/**
 * The error code of an ERROR frame. Such errors are not instances of their class, because rsocket-js is compiled for
 * ES5.
 */
function codeOf(error: Error & { readonly code?: unknown }): number | undefined {
  return typeof error.code === 'number' ? error.code : undefined
}

/** Reports the events of a stream. */
function teller(key: string) {
  return {
    onNext({ data }: Payload, complete: boolean) {
      say({ on: 'next', key, data: (data ?? Buffer.alloc(0)).toString('base64') })
      if (complete) say({ on: 'complete', key })
    },
    onComplete: () => say({ on: 'complete', key }),
    onError: (error: Error) =>
      say({ on: 'error', key, code: codeOf(error) ?? ErrorCodes.APPLICATION_ERROR, message: error.message }),
    request: (n: number) => say({ on: 'request', key, n }),
    cancel: () => say({ on: 'cancel', key }),
    onExtension() {}
  }
}

function encodeCredentials(credentials: PeerCredentials): Buffer {
  return credentials.type === 'simple'
    ? encodeSimpleAuthMetadata(credentials.username, credentials.password)
    : encodeBearerAuthMetadata(credentials.token)
}

function decodeCredentials(content: Buffer): PeerCredentials {
  const { type, payload } = decodeAuthMetadata(content)
  if (type.string === 'bearer') return { type: 'bearer', token: payload.toString() }
  const { username, password } = decodeSimpleAuthPayload(payload)
  return { type: 'simple', username: username.toString(), password: password.toString() }
}

function encodeMetadata({ route, headers, credentials, dataMimeType }: RequestMetadata): Buffer {
  const entries: [WellKnownMimeType, Buffer][] = [[MESSAGE_RSOCKET_ROUTING, encodeRoute(route)]]
  if (headers !== undefined) entries.push([APPLICATION_JSON, Buffer.from(JSON.stringify(headers))])
  if (credentials !== undefined)
    entries.push([MESSAGE_RSOCKET_AUTHENTICATION, encodeCredentials(credentials)])
  if (dataMimeType !== undefined) {
    const { identifier } = WellKnownMimeType.fromString(dataMimeType)
    entries.push([MESSAGE_RSOCKET_MIMETYPE, Buffer.from([0x80 | identifier])])
  }
  return encodeCompositeMetadata(entries)
}

function decodeMetadata(metadata: Buffer | null | undefined): Partial<RequestMetadata> {
  const read: { -readonly [Key in keyof RequestMetadata]?: RequestMetadata[Key] } = {}
  for (const { mimeType, content } of decodeCompositeMetadata(metadata ?? Buffer.alloc(0))) {
    if (mimeType === MESSAGE_RSOCKET_ROUTING.string) read.route = [...decodeRoutes(content)][0] ?? ''
    else if (mimeType === APPLICATION_JSON.string) read.headers = JSON.parse(content.toString())
    else if (mimeType === MESSAGE_RSOCKET_AUTHENTICATION.string) read.credentials = decodeCredentials(content)
  }
  return read
}

/** Handles requests of the other side: reports each, and answers as commands say. */
function responder(connection: string): Partial<RSocket> {
  const requested = (kind: Kind, payload: Payload, handle: Handle) => {
    const stream = `${connection}.${++named}`
    streams.set(stream, handle)
    const data = (payload.data ?? Buffer.alloc(0)).toString('base64')
    say({
      on: 'requested',
      key: connection,
      stream,
      kind,
      data,
      route: '',
      ...decodeMetadata(payload.metadata)
    })
    return teller(stream)
  }
  return {
    requestResponse: (payload, handle) => requested('response', payload, handle),
    requestStream(payload, n, handle) {
      const tells = requested('stream', payload, handle)
      tells.request(n)
      return tells
    },
    requestChannel(payload, n, complete, handle) {
      const tells = requested('channel', payload, handle)
      tells.request(n)
      if (complete) tells.onComplete()
      return tells
    },
    fireAndForget: (payload, handle) => requested('event', payload, handle)
  }
}

const fragmentation = (size: number | undefined) =>
  size === undefined ? {} : { fragmentation: { maxOutboundFragmentSize: size } }

async function listen(command: Extract<Command, { do: 'listen' }>): Promise<void> {
  const { key, fragmentSize, refuse } = command
  const socket = new net.Server()
  const server = await new RSocketServer({
    transport: new TcpServerTransport({
      listenOptions: { host: '127.0.0.1', port: 0 },
      socketCreator: () => socket
    }),
    ...fragmentation(fragmentSize),
    ...(command.lease ? { lease: {} } : {}),
    ...(command.resume ? { resume: { sessionTimeout: 60_000 } } : {}),
    acceptor: {
      async accept(setup, remote) {
        if (refuse !== undefined) throw new RSocketError(ErrorCodes.REJECTED_SETUP, refuse)
        const connection = `${key}.${++named}`
        accepted(connection, remote)
        const { dataMimeType, metadataMimeType } = setup
        const { credentials } = decodeMetadata(setup.metadata)
        say({
          on: 'accepted',
          key,
          connection,
          dataMimeType,
          metadataMimeType,
          ...(credentials && { credentials })
        })
        return responder(connection)
      }
    }
  }).bind()
  closeables.set(key, server)
  say({ on: 'listening', key, port: (socket.address() as net.AddressInfo).port })
}

async function connect(command: Extract<Command, { do: 'connect' }>): Promise<void> {
  const { key, port, credentials, keepaliveInterval, keepaliveLifetime } = command
  const payload = credentials && {
    data: Buffer.alloc(0),
    metadata: encodeCompositeMetadata([[MESSAGE_RSOCKET_AUTHENTICATION, encodeCredentials(credentials)]])
  }
  const rsocket = await new RSocketConnector({
    transport: new TcpClientTransport({ connectionOptions: { host: '127.0.0.1', port } }),
    setup: {
      dataMimeType: command.dataMimeType ?? APPLICATION_JSON.string,
      metadataMimeType: MESSAGE_RSOCKET_COMPOSITE_METADATA.string,
      keepAlive: keepaliveInterval ?? 20_000,
      lifetime: keepaliveLifetime ?? 90_000,
      ...(payload && { payload })
    },
    ...fragmentation(command.fragmentSize),
    ...(command.lease ? { lease: {} } : {}),
    ...(command.resume
      ? {
          resume: { tokenGenerator: () => Buffer.from(`token of ${key}`), reconnectFunction: async () => {} }
        }
      : {}),
    responder: responder(key)
  }).connect()
  say({ on: 'connected', key })
  accepted(key, rsocket)
}

function accepted(connection: string, rsocket: RSocket): void {
  rsockets.set(connection, rsocket)
  closeables.set(connection, rsocket)
  rsocket.onClose((error) => {
    const code = error && codeOf(error)
    const reason = error && { message: error.message, ...(code !== undefined && { code }) }
    say({ on: 'closed', key: connection, ...reason })
  })
}

function open(command: Extract<Command, { do: 'open' }>): void {
  const { key, kind, n, complete } = command
  const rsocket = rsockets.get(command.connection) as RSocket
  const payload = { data: Buffer.from(command.data, 'base64'), metadata: encodeMetadata(command) }
  const tells = teller(key)
  const asked =
    kind === 'response'
      ? rsocket.requestResponse(payload, tells)
      : kind === 'stream'
        ? rsocket.requestStream(payload, n, tells)
        : kind === 'channel'
          ? rsocket.requestChannel(payload, n, complete, tells)
          : rsocket.fireAndForget(payload, tells)
  streams.set(key, asked)
}

async function obey(command: Command): Promise<void> {
  const stream = streams.get(command.key) ?? {}
  switch (command.do) {
    case 'listen':
      return listen(command)
    case 'connect':
      return connect(command)
    case 'close':
      return closeables.get(command.key)?.close()
    case 'open':
      return open(command)
    case 'next':
      return stream.onNext?.({ data: Buffer.from(command.data, 'base64') }, command.complete)
    case 'complete':
      return stream.onComplete?.()
    case 'error':
      return stream.onError?.(new RSocketError(command.code, command.message))
    case 'request':
      return stream.request?.(command.n)
    case 'cancel':
      return stream.cancel?.()
    case 'push':
      return rsockets.get(command.key)?.metadataPush(Buffer.from(command.data, 'base64'), teller(command.key))
    case 'grant':
      throw new Error('Servers of rsocket-js 1.0 grant no leases')
  }
}

const lines = createInterface({ input: process.stdin })
lines.on('line', (line) => {
  const command = JSON.parse(line) as Command
  obey(command).catch((error: Error) => say({ on: 'failed', key: command.key, message: error.message }))
})
await once(lines, 'close')
process.exit(0)
