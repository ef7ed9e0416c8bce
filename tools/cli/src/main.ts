#!/usr/bin/env node
/** The program `elysia-microservices-cli`. */
import { main } from './index.ts'

await main(process.argv.slice(2))
