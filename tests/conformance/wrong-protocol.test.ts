/** A client of this library at the port of a NestJS service, without `protocol: 'nest'`: its error names the option. */
import 'reflect-metadata'
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { freePort } from '@elysia-microservices/test-support'
import { type INestMicroservice, Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { Transport } from '@nestjs/microservices'
import { connect } from 'elysia-microservices/client'

const logger = { error() {}, warn() {} }

class Nothing {}
Module({})(Nothing)

describe('a client that speaks RSocket to a NestJS service', () => {
  let app: INestMicroservice
  let port: number
  before(async () => {
    port = await freePort()
    app = await NestFactory.createMicroservice(Nothing, {
      transport: Transport.TCP,
      options: { host: '127.0.0.1', port },
      logger: false
    })
    await app.listen()
  })
  after(() => app.close())

  // A Nest server waits for the first '#', and closes the connection if there is no length before it.
  for (const [what, data] of [
    ['is never answered', 'a'],
    ['is closed', 'a # b']
  ] as const)
    it(`${what}, and names the option`, async () => {
      const client = connect({ host: '127.0.0.1', port, connectTimeout: 200, retry: false, logger })
      await assert.rejects(client.request('sum', data), {
        name: 'ConnectionError',
        message: /if it speaks Nest's wire, the client needs protocol: 'nest'/
      })
      await client.close()
    })
})
