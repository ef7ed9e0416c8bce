/** A client of this library at the port of a NestJS service, without `protocol: 'nest'`: its error names the option. */
import 'reflect-metadata'
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { freePort } from '@elysia-microservices/test-support'
import { type INestMicroservice, Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { Transport } from '@nestjs/microservices'
import { connect, type UntypedClient } from 'elysia-microservices/client'

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

  it('is told so at once, whatever its timeouts are', async () => {
    const hint =
      /the server closed the connection before it answered; if it speaks Nest's wire, the client needs protocol: 'nest'/
    for (const ask of [
      (one: UntypedClient) => one.request('sum', [1, 2]),
      (one: UntypedClient) => one.stream('count').next()
    ]) {
      const client = connect({ host: '127.0.0.1', port, timeout: false, connectTimeout: 1_000_000, logger })
      await assert.rejects(ask(client), { name: 'ConnectionError', message: hint })
      await client.close()
    }
  })
})
