/** tRPC over WebSocket. */
import { createWSClient, wsLink } from '@trpc/client'
import type { WebPeer } from '../../suites/web/peer.ts'
import { trpcPeer } from './trpc-peer.ts'

declare const location: { readonly host: string }

export const open = (): WebPeer =>
  trpcPeer(wsLink({ client: createWSClient({ url: `ws://${location.host}` }) }))
