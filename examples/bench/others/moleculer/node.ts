/** What both of Moleculer's ends share: a node as its documentation tunes one, on the TCP transporter. */
import { ServiceBroker } from 'moleculer'

export const SERVER_NODE = 'server'
export const SERVICE = 'bench'

/** What a node's transporter is told of the others. */
export interface MoleculerLinks {
  /** Where it listens, as every node does; 0: any free port. */
  readonly port: number
  /** The nodes it knows from the start, as `tcp://host:port/name`. */
  readonly urls?: readonly string[]
}

export function moleculerNode(nodeID: string, { port, urls = [] }: MoleculerLinks): ServiceBroker {
  return new ServiceBroker({
    nodeID,
    logger: false,
    metrics: false,
    tracing: false,
    internalServices: false,
    // The bench decides when a node stops; with one broker for each connection they would also be many.
    skipProcessEventRegistration: true,
    transporter: {
      type: 'TCP',
      options: {
        port,
        // A list in one text: that is what its types allow.
        urls: urls.join(','),
        udpDiscovery: false,
        // Seconds. The nodes know each other when the load begins; gossip would only add noise.
        gossipPeriod: 3_600,
        // By default a node keeps 32 connections only and closes the others, to open them again for the next answer.
        maxConnections: 10_000,
        maxPacketSize: 64 * 1024 * 1024
      }
    }
  })
}

/** What its types leave out of the TCP transporter. */
interface TcpTransporter {
  readonly opts: { readonly port: number }
  /** Tells a node that it knows about itself, and gets to know what that one offers. */
  sendGossipRequest(): void
}

export const transporterOf = (broker: ServiceBroker): TcpTransporter =>
  broker.transit?.tx as unknown as TcpTransporter
