/**
 * Creates the certificates of the tests again, with the `openssl` command: `bun tools/scripts/make-test-certificates.ts`.
 * They are committed, so that tests need no `openssl`; all but the expired one are valid until 2100. The keys are not
 * secret: they are for tests only.
 */
import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const FOLDER = join(import.meta.dirname, '../..', 'tests', 'fixtures', 'tls')
const LOCAL = 'DNS:localhost,DNS:service.test,IP:127.0.0.1,IP:0:0:0:0:0:0:0:1'

interface Leaf {
  readonly name: string
  readonly authority: string
  readonly subject: string
  readonly names: string
  readonly from?: string
  readonly to?: string
}

const LEAVES: readonly Leaf[] = [
  { name: 'service', authority: 'authority', subject: '/CN=service', names: LOCAL },
  { name: 'renewed', authority: 'authority', subject: '/CN=renewed', names: LOCAL },
  { name: 'other-host', authority: 'authority', subject: '/CN=other', names: 'DNS:other.test' },
  {
    name: 'expired',
    authority: 'authority',
    subject: '/CN=expired',
    names: LOCAL,
    from: '20200101000000Z',
    to: '20210101000000Z'
  },
  {
    name: 'caller',
    authority: 'authority',
    subject: '/O=Tests/CN=caller',
    names: 'URI:spiffe://test/caller'
  },
  { name: 'stranger', authority: 'other-authority', subject: '/CN=stranger', names: LOCAL }
]

const work = mkdtempSync(join(tmpdir(), 'certificates-'))

function openssl(...args: string[]): void {
  try {
    execFileSync('openssl', args, { cwd: work, stdio: ['ignore', 'ignore', 'pipe'] })
  } catch (error) {
    throw new Error(`openssl ${args.join(' ')} failed; is it installed?`, { cause: error })
  }
}

function makeKey(name: string): void {
  openssl('genpkey', '-algorithm', 'EC', '-pkeyopt', 'ec_paramgen_curve:P-256', '-out', `${name}.key`)
}

function makeAuthority(name: string): void {
  makeKey(name)
  openssl('req', '-new', '-key', `${name}.key`, '-subj', `/CN=${name}`, '-out', `${name}.csr`)
  sign({ name, authority: name, subject: `/CN=${name}`, names: '' })
}

/** Signs a certificate with `openssl ca`, the only command that accepts dates in all versions of openssl. */
function sign({ name, authority, names, from = '20200101000000Z', to = '21000101000000Z' }: Leaf): void {
  const isAuthority = name === authority
  const extensions = isAuthority
    ? 'basicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign,cRLSign'
    : `basicConstraints=CA:FALSE\nextendedKeyUsage=serverAuth,clientAuth\nsubjectAltName=${names}`
  writeFileSync(join(work, 'index.txt'), '')
  writeFileSync(
    join(work, 'ca.cnf'),
    `[ca]\ndefault_ca=it\n[it]\ndatabase=index.txt\nnew_certs_dir=.\nrand_serial=yes\ndefault_md=sha256\npolicy=any
email_in_dn=no\nunique_subject=no\n[any]\nCN=supplied\nO=optional\n[extensions]\n${extensions}\n`
  )
  const signer = isAuthority
    ? ['-selfsign', '-keyfile', `${name}.key`]
    : ['-cert', `${authority}.pem`, '-keyfile', `${authority}.key`]
  openssl(
    ...['ca', '-config', 'ca.cnf', '-batch', '-notext', '-extensions', 'extensions', ...signer],
    ...['-startdate', from, '-enddate', to, '-in', `${name}.csr`, '-out', `${name}.pem`]
  )
}

try {
  for (const name of ['authority', 'other-authority']) makeAuthority(name)
  for (const leaf of LEAVES) {
    makeKey(leaf.name)
    openssl('req', '-new', '-key', `${leaf.name}.key`, '-subj', leaf.subject, '-out', `${leaf.name}.csr`)
    sign(leaf)
  }
  mkdirSync(FOLDER, { recursive: true })
  for (const name of ['authority', 'other-authority'])
    copyFileSync(join(work, `${name}.pem`), join(FOLDER, `${name}.pem`))
  for (const { name } of LEAVES)
    for (const file of [`${name}.pem`, `${name}.key`]) copyFileSync(join(work, file), join(FOLDER, file))
} finally {
  rmSync(work, { recursive: true })
}
