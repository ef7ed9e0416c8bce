/** This project's client over TCP. */
import { connect } from 'elysia-microservices/client'
import type { OpenEchoClient } from '../echo-client.ts'
import { askThrough, silent } from './ask-through.ts'

export const openEchoClient: OpenEchoClient = async (host, port, plan) => {
  const { protocol, codec, tls } = plan
  const client = connect({ transport: 'tcp', protocol, codec, host, port, tls, logger: silent })
  await client.connect()
  return askThrough(client, plan)
}
