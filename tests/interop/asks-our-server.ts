/** Cases in which another library's client calls our server. */
import { askingConnections } from './cases/asking-connections.ts'
import { askingRequests } from './cases/asking-requests.ts'
import { askingStreams } from './cases/asking-streams.ts'

export const asksOurServer = { ...askingRequests, ...askingStreams, ...askingConnections }
