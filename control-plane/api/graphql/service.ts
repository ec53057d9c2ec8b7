import { builder } from './builder.ts'

/** Origins of the service: that of the API, and that of the site. They are one where both share a host. */
type ServiceAddresses = { readonly apiBaseUrl: string; readonly baseUrl: string }

const Service = builder.objectRef<ServiceAddresses>('Service').implement({
  description: 'Where the service is: `apiBaseUrl` takes calls of buyers.',
  fields: (t) => ({ apiBaseUrl: t.exposeString('apiBaseUrl'), baseUrl: t.exposeString('baseUrl') }),
})

builder.queryFields((t) => ({
  service: t.field({
    type: Service,
    resolve: (_root, _args, { ctx }) => {
      const [apiBaseUrl = '', baseUrl = apiBaseUrl] = ctx.settings.origins
      return { apiBaseUrl, baseUrl }
    },
  }),
}))
