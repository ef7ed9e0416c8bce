/** A node of Moleculer, for server and client: tuned as its documentation advises, with the TCP transporter. */
import { ServiceBroker } from 'moleculer'

export const SERVER_NODE = 'server'
export const SERVICE = 'bench'

/** The links of a node's transporter to the others. */
export interface MoleculerLinks {
  /** The port of the node, which every node needs; 0: any free port. */
  readonly port: number
  /** The nodes that are known from the start, as `tcp://host:port/name`. */
  readonly urls?: readonly string[]
}

export function moleculerNode(nodeID: string, { port, urls = [] }: MoleculerLinks): ServiceBroker {
  return new ServiceBroker({
    nodeID,
    logger: false,
    metrics: false,
    tracing: false,
    internalServices: false,
    // The bench decides when a node stops; with one node for each connection, there would also be many listeners.
    skipProcessEventRegistration: true,
    transporter: {
      type: 'TCP',
      options: {
        port,
        // A list in one string, because the types allow nothing else.
        urls: urls.join(','),
        udpDiscovery: false,
        // The interval of gossip in seconds. The nodes know each other before the load begins, so gossip would only
        // disturb.
        gossipPeriod: 3_600,
        // By default, a node keeps only 32 connections; it would close others and open them again for each answer.
        maxConnections: 10_000,
        maxPacketSize: 64 * 1024 * 1024
      }
    }
  })
}

/** A member of the TCP transporter that its types leave out. */
interface TcpTransporter {
  readonly opts: { readonly port: number }
  /** Tells another node about this one, and learns which services the other node has. */
  sendGossipRequest(): void
}

export const transporterOf = (broker: ServiceBroker): TcpTransporter =>
  broker.transit?.tx as unknown as TcpTransporter
