/** A node of Moleculer, for both ends: tuned as its documentation advises, on the TCP transporter. */
import { ServiceBroker } from 'moleculer'

export const SERVER_NODE = 'server'
export const SERVICE = 'bench'

/** The links of a node's transporter to the others. */
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

/** A member of the TCP transporter that its types leave out. */
interface TcpTransporter {
  readonly opts: { readonly port: number }
  /** Tells a node that it knows about itself, and gets to know what that one offers. */
  sendGossipRequest(): void
}

export const transporterOf = (broker: ServiceBroker): TcpTransporter =>
  broker.transit?.tx as unknown as TcpTransporter
