/**
 * What a transport is, whatever it runs on: TCP here, brokers elsewhere. A plugin starts a server transport
 * with its dispatcher; a client opens a client transport and calls.
 */
import type { Caller } from './call.ts'
import type { ClientListener, ClientStatus } from './client-event.ts'
import type { Dispatcher } from './dispatch.ts'

/** How a server stops. */
export interface StopOptions {
  /** Milliseconds that work in flight may still take; after it connections are cut. Default: 10,000. */
  readonly drain?: number
}

/** The listening side. */
export interface ServerTransport {
  /** Starts to receive and to dispatch. Rejects with a `ListenError` if it cannot. */
  start(dispatcher: Dispatcher): Promise<void>
  /** Takes no new connections, lets work in flight end, then closes. Resolves when all is closed. */
  stop(options?: StopOptions): Promise<void>
}

/** The calling side. It connects when it is first needed, and again when a connection is lost. */
export interface ClientTransport extends Caller {
  readonly status: ClientStatus
  /** Tells a listener what happens from now on. Returns the function that ends it. */
  onEvent(listener: ClientListener): () => void
  /** Connects now. Rejects with a `ConnectionError` if it cannot. */
  connect(): Promise<void>
  /** Closes; calls that still wait fail with a `ConnectionError`. Resolves when all is closed. */
  close(): Promise<void>
}
