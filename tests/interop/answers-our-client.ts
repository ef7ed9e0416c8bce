/** Cases in which another library's server answers our client. */
import { answeringConnections } from './cases/answering-connections.ts'
import { answeringRequests } from './cases/answering-requests.ts'
import { answeringStreams } from './cases/answering-streams.ts'

export const answersOurClient = { ...answeringRequests, ...answeringStreams, ...answeringConnections }
