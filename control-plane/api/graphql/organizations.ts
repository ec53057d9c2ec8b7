import { invoke } from '#control-plane/operation/invoke.ts'
import type { InvitationView } from '#control-plane/services/organizations/invitations.ts'
import {
  acceptInvitation,
  createInvitation,
  declineInvitation,
  InvitationViewSchema,
  listOrganizationInvitations,
  listOwnInvitations,
  withdrawInvitation,
} from '#control-plane/services/organizations/invitations.ts'
import type { MemberView } from '#control-plane/services/organizations/members.ts'
import {
  listOrganizationMembers,
  MemberViewSchema,
  removeMember,
  updateMember,
} from '#control-plane/services/organizations/members.ts'
import type { OrganizationView } from '#control-plane/services/organizations/organizations.ts'
import {
  createOrganization,
  getOrganization,
  listOrganizations,
  OrganizationViewSchema,
  updateOrganization,
} from '#control-plane/services/organizations/organizations.ts'
import { builder } from './builder.ts'
import { membersOf } from './members.ts'

const Organization = builder.objectRef<OrganizationView>('Organization').implement({
  description: 'An organisation with the role of who asks. Instants are Unix milliseconds.',
  fields: (t) => membersOf(t, OrganizationViewSchema),
})

const Member = builder.objectRef<MemberView>('Member').implement({
  description: 'A member of an organisation.',
  fields: (t) => membersOf(t, MemberViewSchema),
})

const Invitation = builder.objectRef<InvitationView>('Invitation').implement({
  description: 'An invitation that waits, or the one that was just answered.',
  fields: (t) => membersOf(t, InvitationViewSchema, { ids: ['organization'] }),
})

/** The longest list, for its cost. */
const LIST_COST = { field: 1, multiplier: 50 }

builder.queryFields((t) => ({
  organizations: t.field({
    type: [Organization],
    complexity: LIST_COST,
    resolve: async (_root, _args, { ctx, actor, options }) =>
      (await invoke(ctx, actor, listOrganizations, {}, options)).organizations,
  }),
  organization: t.field({
    type: Organization,
    args: { organization: t.arg.id({ required: true }) },
    resolve: (_root, args, { ctx, actor, options }) => invoke(ctx, actor, getOrganization, args, options),
  }),
  members: t.field({
    type: [Member],
    complexity: LIST_COST,
    args: { organization: t.arg.id({ required: true }) },
    resolve: async (_root, args, { ctx, actor, options }) =>
      (await invoke(ctx, actor, listOrganizationMembers, args, options)).members,
  }),
  invitations: t.field({
    type: [Invitation],
    complexity: LIST_COST,
    args: { organization: t.arg.id({ required: true }) },
    resolve: async (_root, args, { ctx, actor, options }) =>
      (await invoke(ctx, actor, listOrganizationInvitations, args, options)).invitations,
  }),
  ownInvitations: t.field({
    type: [Invitation],
    complexity: LIST_COST,
    resolve: async (_root, _args, { ctx, actor, options }) =>
      (await invoke(ctx, actor, listOwnInvitations, {}, options)).invitations,
  }),
}))

builder.mutationFields((t) => ({
  createOrganization: t.field({
    type: Organization,
    args: { name: t.arg.string({ required: true }) },
    resolve: (_root, args, { ctx, actor, options }) => invoke(ctx, actor, createOrganization, args, options),
  }),
  updateOrganization: t.field({
    type: Organization,
    args: { organization: t.arg.id({ required: true }), name: t.arg.string({ required: true }) },
    resolve: (_root, args, { ctx, actor, options }) => invoke(ctx, actor, updateOrganization, args, options),
  }),
  updateMember: t.field({
    type: Member,
    args: {
      organization: t.arg.id({ required: true }),
      member: t.arg.id({ required: true }),
      role: t.arg.string({ required: true }),
    },
    resolve: (_root, args, { ctx, actor, options }) => invoke(ctx, actor, updateMember, args, options),
  }),
  removeMember: t.field({
    type: Member,
    args: { organization: t.arg.id({ required: true }), member: t.arg.id({ required: true }) },
    resolve: (_root, args, { ctx, actor, options }) => invoke(ctx, actor, removeMember, args, options),
  }),
  createInvitation: t.field({
    type: Invitation,
    args: {
      organization: t.arg.id({ required: true }),
      wallet: t.arg.string({ required: true }),
      role: t.arg.string({ required: true }),
    },
    resolve: (_root, args, { ctx, actor, options }) => invoke(ctx, actor, createInvitation, args, options),
  }),
  withdrawInvitation: t.field({
    type: Invitation,
    args: { organization: t.arg.id({ required: true }), invitation: t.arg.id({ required: true }) },
    resolve: (_root, args, { ctx, actor, options }) => invoke(ctx, actor, withdrawInvitation, args, options),
  }),
  acceptInvitation: t.field({
    type: Invitation,
    args: { invitation: t.arg.id({ required: true }) },
    resolve: (_root, args, { ctx, actor, options }) => invoke(ctx, actor, acceptInvitation, args, options),
  }),
  declineInvitation: t.field({
    type: Invitation,
    args: { invitation: t.arg.id({ required: true }) },
    resolve: (_root, args, { ctx, actor, options }) => invoke(ctx, actor, declineInvitation, args, options),
  }),
}))
