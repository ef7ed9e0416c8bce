/** This project's client over Kafka. */
import { kafka } from '@elysia-microservices/kafka'
import { connect } from 'elysia-microservices/client'
import type { OpenEchoClient } from '../echo-client.ts'
import { askThrough, silent } from '../elysia/ask-through.ts'

export const openEchoClient: OpenEchoClient = async (host, port, plan) => {
  const transport = kafka({ url: [`${host}:${port}`], partitions: 1 })
  const client = connect({ transport, logger: silent })
  await client.connect()
  return askThrough(client, plan)
}
