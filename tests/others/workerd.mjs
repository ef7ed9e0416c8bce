import { fileURLToPath } from 'node:url'

/** Where the program is. */
export const workerd = fileURLToPath(import.meta.resolve('@cloudflare/workerd-linux-64/bin/workerd'))
