import { builder } from './builder.ts'

/** Origins of the service: of the API, and of the site. They are equal where both share a host. */
type ServiceFacts = {
  readonly apiBaseUrl: string
  readonly baseUrl: string
  readonly passkeyOrigin: string | null
  readonly isDevelopment: boolean
  readonly feeBps: number
  readonly supportEmail: string | null
  readonly explorerUrl: string | null
  readonly sendsMail: boolean
}

const Service = builder.objectRef<ServiceFacts>('Service').implement({
  description: 'The addresses of the service. `apiBaseUrl` takes calls of buyers.',
  fields: (t) => ({
    apiBaseUrl: t.exposeString('apiBaseUrl'),
    baseUrl: t.exposeString('baseUrl'),
    passkeyOrigin: t.exposeString('passkeyOrigin', {
      nullable: true,
      description: 'The origin of the page that passkeys work on. Null where the page has no host name.',
    }),
    feeBps: t.exposeInt('feeBps', {
      description: 'The fee of the market, which sellers pay out of each sale, in hundredths of a percent.',
    }),
    supportEmail: t.exposeString('supportEmail', {
      nullable: true,
      description: 'The address that reports of problems go to. Null where the operator named none.',
    }),
    explorerUrl: t.exposeString('explorerUrl', {
      nullable: true,
      description: 'The public explorer of the chain: `/tx/` and a hash, `/address/` and an address. Null without one.',
    }),
    sendsMail: t.exposeBoolean('sendsMail', {
      description: 'True where people sign in and get alerts by e-mail.',
    }),
    isDevelopment: t.exposeBoolean('isDevelopment', {
      description: 'True for a development market, which has a sample buyer and gives credit away.',
    }),
  }),
})

builder.queryFields((t) => ({
  service: t.field({
    type: Service,
    resolve: (_root, _args, { ctx }): ServiceFacts => {
      const { origins, baseUrl, relyingParty, sampleBuyer, platformFeeBps, supportEmail, explorerUrl } = ctx.settings
      const [apiBaseUrl = baseUrl] = origins
      const passkeyOrigin = relyingParty?.origins.at(-1) ?? null
      const feeBps = Number(platformFeeBps)
      return {
        apiBaseUrl,
        baseUrl,
        passkeyOrigin,
        isDevelopment: sampleBuyer !== null,
        feeBps,
        supportEmail,
        explorerUrl,
        sendsMail: ctx.mail !== null,
      }
    },
  }),
}))
