/** Text of `--help`. */
export const HELP = `Makes a project with elysia-microservices: two services, a gateway, a client, tests, Docker, CI.

  npm create elysia-microservices [folder] [-- options]
  bun create elysia-microservices [folder] [options]

Options
  --runtime <one>        bun, node or deno: what runs it (default: what runs this)
  --transport <one>      tcp, nats, redis, rabbitmq, mqtt or kafka: what carries messages (default: tcp)
  --engine <one>         the same, for the name of a broker
  --web                  a page too, which shows a live stream
  -y, --yes              ask nothing: defaults for what is not given
  -h, --help             this text
  --version              the version

Without a terminal nothing is asked or installed: give --yes, or the folder and both options. The folder must be empty.
Ends with 0, with 1 if something could not be written, 2 if it cannot be made so, 130 if canceled.
`
