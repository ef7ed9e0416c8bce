/** The text of `--help`. */
export const HELP = `Creates a project that uses elysia-microservices: two services, a gateway, a client, tests, Docker, CI.

  npm create elysia-microservices [folder] [-- options]
  bun create elysia-microservices [folder] [options]

Options
  --runtime <one>        bun, node or deno: the runtime (default: the one that runs this command)
  --transport <one>      tcp, nats, redis, rabbitmq, mqtt, kafka or grpc: the transport (default: tcp)
  --engine <one>         another name of --transport
  --web                  add a web page that shows a live stream of orders
  -y, --yes              ask nothing; use the defaults for missing options
  -h, --help             print this help
  --version              print the version

Without a terminal this command asks and installs nothing: give --yes, or the folder, --runtime and --transport. The folder must be empty.
Exit codes: 0 success, 1 a file could not be written, 2 invalid arguments or folder, 130 canceled.
`
